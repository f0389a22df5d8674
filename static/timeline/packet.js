// Bytes from the server -> a packet that can be drawn. The other end is
// profiler_core/timeline/packet.py, which describes the format.

const TYPES = { f8: Float64Array, u4: Uint32Array, u2: Uint16Array, u1: Uint8Array }

/**
 * One window of one run.
 *
 * startNs, endNs and width are as asked for, on the run's own axis.
 * events: {n, ts, dur, row, name, lane, category, table}, ts relative to startNs; `names` has
 * the texts. byLane: lane -> [first, last) of the events. shares: lane -> [{category, share}],
 * where share[pixel] is 0..255. counts: lane -> events that start in each pixel.
 */
export function decode(buffer, categories) {
  const length = new DataView(buffer).getUint32(0, true)
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)))
  const column = {}
  for (const [name, type, offset, n] of header.columns) {
    column[name] = new TYPES[type](buffer, 4 + length + offset, n)
  }
  const width = header.width
  const packet = {
    startNs: header.start_ns,
    endNs: header.end_ns,
    width,
    nEvents: header.n_events,
    names: header.names,
    events: {
      n: header.n_drawn,
      ts: column.ts,
      dur: column.dur,
      row: column.row,
      name: column.name,
      lane: column.lane,
      category: column.category.map((number) => categories[number]),
      table: column.table,
    },
    byLane: new Map(),
    shares: new Map(),
    counts: new Map(),
    bitmaps: new Map(), // kept by bitmap.js
  }
  for (let i = 0; i < header.n_drawn; i++) {
    const range = packet.byLane.get(column.lane[i])
    if (range) range[1] = i + 1
    else packet.byLane.set(column.lane[i], [i, i + 1])
  }
  header.series.forEach(([lane, category], i) => {
    const share = column.shares.subarray(i * width, (i + 1) * width)
    if (!packet.shares.has(lane)) packet.shares.set(lane, [])
    packet.shares.get(lane).push({ category: categories[category], share })
  })
  for (const stack of packet.shares.values()) stack.sort((a, b) => a.category - b.category)
  header.count_lanes.forEach((lane, i) => {
    packet.counts.set(lane, column.counts.subarray(i * width, (i + 1) * width))
  })
  return packet
}
