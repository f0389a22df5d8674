// Shares of a lane -> a small picture, one column a pixel of time, categories stacked from the
// bottom: the height of the stack is the share of that time in which the lane was busy.

/** The picture of one lane of a packet, made once for each height and set of hidden categories. */
export function laneBitmap(packet, lane, height, colours, hidden, style) {
  const key = `${lane}/${height}/${style}`
  let bitmap = packet.bitmaps.get(key)
  if (!bitmap) {
    // Pictures of another style (theme, hidden categories) are of no use any more.
    for (const old of packet.bitmaps.keys()) if (!old.endsWith(`/${style}`)) packet.bitmaps.delete(old)
    bitmap = paint(packet, lane, height, colours, hidden)
    packet.bitmaps.set(key, bitmap)
  }
  return bitmap
}

function paint(packet, lane, height, colours, hidden) {
  const width = packet.width
  const image = new ImageData(width, height)
  const pixels = new Uint32Array(image.data.buffer)
  const filled = new Float32Array(width) // share of the pixel's time below this category
  for (const { category, share } of packet.shares.get(lane)) {
    if (hidden.has(category)) continue
    const colour = colours[category]
    for (let x = 0; x < width; x++) {
      if (!share[x]) continue
      const bottom = Math.round(height - filled[x] * height)
      filled[x] = Math.min(1, filled[x] + share[x] / 255)
      // At least one pixel: a little work is not the same as none.
      const top = Math.max(0, Math.min(Math.round(height - filled[x] * height), bottom - 1))
      for (let y = top; y < bottom; y++) pixels[y * width + x] = colour
    }
  }
  const canvas = new OffscreenCanvas(width, height)
  canvas.getContext("2d").putImageData(image, 0, 0)
  return canvas
}

/** "#RRGGBB" as a pixel of ImageData (little-endian). */
export function pixel(colour) {
  const [r, g, b] = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16))
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0
}
