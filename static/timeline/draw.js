// Puts one frame on the canvas. Reads the timeline's state, changes nothing of it.
import { duration, moment, shortName } from "./format.js"
import { AXIS, LEFT, PIN } from "./rows.js"
import { laneBitmap } from "./bitmap.js"

const LABEL_FROM = 34 // px: narrower boxes have no room for a word
const OUTLINE_FROM = 4
const FADED = 0.22 // what a search does not mean
const STEP_LINES_FROM = 24 // px per step: closer lines are a grey veil

/** Draw everything. `t` is the Timeline. */
export function draw(t) {
  const g = t.context
  g.fillStyle = t.look.surface
  g.fillRect(0, 0, t.width, t.height)
  g.textBaseline = "middle"
  g.textAlign = "left"
  g.font = font(t, 12)
  minimap(t, g)
  axis(t, g)
  for (const row of t.rows.tracks) label(t, g, row)
  g.save()
  g.beginPath()
  g.rect(LEFT, t.rows.miniHeight, t.plotWidth, t.height)
  g.clip()
  for (const row of t.rows.tracks) backdrop(t, g, row)
  stepLines(t, g)
  for (const row of t.rows.lanes) lane(t, g, row)
  links(t, g)
  span(t, g)
  g.restore()
  for (const group of t.rows.groups) header(t, g, group)
  if (t.error || !t.runs.some((run) => run.packet)) message(t, g)
}

const font = (t, size, weight = 400) => `${weight} ${size}px ${t.look.font}`

function minimap(t, g) {
  const h = t.rows.miniRun - 3
  const [lo, hi] = t.bounds
  t.runs.forEach((run, i) => {
    const y = 3 + i * t.rows.miniRun
    g.fillStyle = run.colour
    g.fillRect(LEFT - 9, y, 3, h)
    g.fillStyle = t.look.raised
    g.fillRect(LEFT, y, t.plotWidth, h)
    if (!run.mini) return
    for (const number of run.miniLanes) {
      drawLane(t, g, run, run.mini, number, y, h, [lo, hi], { plain: true })
    }
  })
  const bottom = t.rows.miniHeight - 3
  const [a, b] = t.view.map((ns) => LEFT + ((ns - lo) / (hi - lo)) * t.plotWidth)
  g.fillStyle = t.look.surface
  g.globalAlpha = 0.62
  g.fillRect(LEFT, 1, a - LEFT, bottom)
  g.fillRect(b, 1, LEFT + t.plotWidth - b, bottom)
  g.globalAlpha = 1
  g.strokeStyle = t.look.ink
  g.strokeRect(Math.round(a) + 0.5, 1.5, Math.max(3, Math.round(b - a) - 1), bottom - 1)
}

/** A round distance between ticks, at least `space` px apart. */
export function tickStep(span, width, space) {
  const least = (span * space) / width
  const power = 10 ** Math.floor(Math.log10(least))
  return Math.max(1, [1, 2, 5, 10].map((k) => k * power).find((step) => step >= least))
}

function axis(t, g) {
  const [a, b] = t.view
  const step = tickStep(b - a, t.plotWidth, 104)
  const y = t.rows.miniHeight + AXIS / 2
  const first = Math.ceil(a / step)
  // Far from zero and close up the leading digits repeat: show the first tick in full, then
  // what is added to it.
  const relative = Math.abs(first) > 9999
  g.font = font(t, 11)
  for (let k = first; k * step <= b; k++) {
    const x = Math.round(t.x(k * step)) + 0.5
    g.strokeStyle = t.look.ink
    g.globalAlpha = k === 0 ? 0.3 : 0.09
    g.beginPath()
    g.moveTo(x, t.rows.miniHeight + AXIS - 3)
    g.lineTo(x, t.height)
    g.stroke()
    g.globalAlpha = 0.72
    g.fillStyle = t.look.ink
    const text = relative && k > first ? `+${moment((k - first) * step, step)}` : moment(k * step, step)
    if (x + 3 + g.measureText(text).width < t.width) g.fillText(text, x + 3, y)
  }
  g.globalAlpha = 1
}

function header(t, g, { run, y, h }) {
  g.fillStyle = t.look.surface
  g.fillRect(0, y, LEFT, h)
  g.fillStyle = run.colour
  g.fillRect(0, y + 4, 4, h - 8)
  g.fillStyle = t.look.ink
  g.font = font(t, 13, 600)
  const name = fitted(g, run.label, LEFT - 18)
  g.fillText(name, 12, y + h / 2)
  const after = 12 + g.measureText(name).width + 7
  g.font = font(t, 11)
  g.globalAlpha = 0.62
  // The bar's colour tells the role as well: a long name takes its place.
  if (after + g.measureText(run.role).width < LEFT - 4) g.fillText(run.role, after, y + h / 2 + 0.5)
  g.globalAlpha = 1
  steps(t, g, run, y, h)
}

function steps(t, g, run, y, h) {
  g.save()
  g.beginPath()
  g.rect(LEFT, y, t.plotWidth, h)
  g.clip()
  g.font = font(t, 11)
  run.steps.forEach(([name, ts, end], i) => {
    const x0 = t.x(ts - run.offset_ns)
    const x1 = t.x(end - run.offset_ns)
    if (x1 < LEFT || x0 > LEFT + t.plotWidth) return
    g.fillStyle = run.colour
    g.globalAlpha = i % 2 ? 0.14 : 0.24
    g.fillRect(x0, y + 3, Math.max(1, x1 - x0), h - 6)
    g.globalAlpha = 1
    const from = Math.max(x0, LEFT) + 6
    const room = Math.min(x1, LEFT + t.plotWidth) - from - 4
    if (room > 30) {
      g.fillStyle = t.look.ink
      const long = `${name} · ${duration(end - ts)} on the host`
      g.fillText(g.measureText(long).width <= room ? long : fitted(g, name, room), from, y + h / 2)
    }
  })
  g.restore()
}

function label(t, g, { track, pinned, y, h, collapsed }) {
  g.fillStyle = t.look.ink
  g.globalAlpha = 0.5
  triangle(g, 8, y + 9, collapsed)
  g.globalAlpha = 1
  g.font = font(t, 12)
  g.fillText(fitted(g, track.label, LEFT - 26 - PIN), 18, y + 9)
  g.globalAlpha = pinned ? 1 : 0.35
  g.fillText(pinned ? "◆" : "◇", LEFT - PIN + 4, y + 9)
  g.globalAlpha = 1
  if (!collapsed && h >= 30 && track.note) {
    g.globalAlpha = 0.6
    g.font = font(t, 11)
    g.fillText(noteThatFits(g, track.note, LEFT - 26), 18, y + 25)
    g.globalAlpha = 1
  }
}

function triangle(g, x, y, right) {
  g.beginPath()
  if (right) {
    g.moveTo(x - 2, y - 4)
    g.lineTo(x + 3, y)
    g.lineTo(x - 2, y + 4)
  } else {
    g.moveTo(x - 4, y - 2)
    g.lineTo(x, y + 3)
    g.lineTo(x + 4, y - 2)
  }
  g.fill()
}

function backdrop(t, g, { y, h, collapsed, track }) {
  g.fillStyle = t.look.raised
  g.globalAlpha = track.kind === "stream" ? 1 : 0.55
  g.fillRect(LEFT, y, t.plotWidth, h)
  g.globalAlpha = 1
  if (collapsed) {
    g.fillStyle = t.look.ink
    g.globalAlpha = 0.45
    g.font = font(t, 11)
    g.fillText(`${track.n_lanes} rows, collapsed`, LEFT + 8, y + h / 2)
    g.globalAlpha = 1
  }
}

function stepLines(t, g) {
  for (const { run, y, bottom } of t.rows.groups) {
    g.strokeStyle = run.colour
    g.globalAlpha = 0.55
    g.setLineDash([3, 3])
    const perStep = run.steps.length > 1 ? t.x(run.steps[1][1]) - t.x(run.steps[0][1]) : Infinity
    if (perStep < STEP_LINES_FROM) continue
    for (const [, ts] of run.steps) {
      const x = Math.round(t.x(ts - run.offset_ns)) + 0.5
      if (x < LEFT || x > LEFT + t.plotWidth) continue
      g.beginPath()
      g.moveTo(x, y)
      g.lineTo(x, bottom)
      g.stroke()
    }
    g.setLineDash([])
    g.globalAlpha = 1
  }
}

function lane(t, g, row) {
  if (row.run.packet) drawLane(t, g, row.run, row.run.packet, row.lane, row.y, row.h, t.view, {})
}

/** One lane of a packet into a strip: its events, or its picture where there are too many. */
function drawLane(t, g, run, packet, number, y, h, view, { plain }) {
  const perNs = t.plotWidth / (view[1] - view[0])
  const start = packet.startNs - run.offset_ns
  if (packet.shares.has(number)) {
    const bitmap = laneBitmap(packet, number, Math.round(h - (plain ? 0 : 2)), t.pixels, t.hidden, t.style)
    const end = packet.endNs - run.offset_ns
    const w = (end - start) * perNs
    g.imageSmoothingEnabled = Math.abs(w / packet.width - 1) > 0.05
    g.drawImage(bitmap, LEFT + (start - view[0]) * perNs, y + (plain ? 0 : 1), w, h - (plain ? 0 : 2))
  }
  const range = packet.byLane.get(number)
  if (!range) return
  const { ts, dur, category, name, row, table } = packet.events
  const right = LEFT + t.plotWidth
  const outlined = !t.dark && !plain
  const meant = t.find.meant(packet)
  g.font = font(t, h > 15 ? 11 : 10)
  for (let i = range[0]; i < range[1]; i++) {
    if (t.hidden.has(category[i])) continue
    const x = LEFT + (start + ts[i] - view[0]) * perNs
    const w = dur[i] * perNs
    if (x > right || x + w < LEFT) continue
    const { fill, ink } = t.categories[category[i]]
    g.fillStyle = fill
    // Less than a pixel is drawn paler, not wider: a crowd of them must not look busy.
    if (w < 1) g.globalAlpha = Math.max(0.35, w)
    const isHit = meant?.[name[i]]
    if (meant && !isHit) g.globalAlpha *= FADED
    g.fillRect(x, y + 1, Math.max(1, w > 3 ? w - 1 : w), h - 2)
    g.globalAlpha = 1
    if (isHit && !plain) frame(g, x, y, w, h, t.look.accent)
    if (plain) continue
    if (outlined && w > OUTLINE_FROM) {
      g.strokeStyle = "rgb(21 24 30 / 22%)"
      g.strokeRect(x + 0.5, y + 1.5, w - 2, h - 3)
    }
    if (w > LABEL_FROM) boxText(t, g, packet.names[name[i]], dur[i], x, y, w, h, ink, right)
    if (t.isSelected(run, table[i], row[i])) frame(g, x, y, w, h, t.look.ink)
  }
}

function boxText(t, g, name, dur, x, y, w, h, ink, right) {
  const from = Math.max(x, LEFT) + 5
  const room = Math.min(x + w, right) - from - 5
  if (room < LABEL_FROM - 12) return
  g.fillStyle = ink
  const two = h >= 30 && room > 40
  g.fillText(fitted(g, shortName(name), room), from, y + (two ? h / 2 - 7 : h / 2 + 0.5))
  if (two) {
    g.globalAlpha = 0.85
    g.fillText(fitted(g, duration(dur), room), from, y + h / 2 + 8)
    g.globalAlpha = 1
  }
}

function frame(g, x, y, w, h, colour) {
  g.lineWidth = 2
  g.strokeStyle = colour
  g.strokeRect(x - 0.5, y, Math.max(3, w), h)
  g.lineWidth = 1
}

function links(t, g) {
  const selected = t.selected
  if (!selected) return
  const run = t.runs.find((r) => r.number === selected.run)
  const middle = (number) => {
    const row = t.rows.lanes.find((r) => r.run === run && r.lane === number)
    return row && row.y + row.h / 2
  }
  g.strokeStyle = t.look.accent
  g.fillStyle = t.look.accent
  const many = selected.links.length > 20
  for (const [fromLane, fromNs, toLane, toNs] of selected.links) {
    const [y0, y1] = [middle(fromLane), middle(toLane)]
    if (y0 === undefined || y1 === undefined) continue
    const [x0, x1] = [t.x(fromNs - run.offset_ns), t.x(toNs - run.offset_ns)]
    if (Math.max(x0, x1) < LEFT || Math.min(x0, x1) > LEFT + t.plotWidth) continue
    g.globalAlpha = many ? 0.35 : 0.9
    g.lineWidth = many ? 1 : 1.5
    const bend = Math.max(16, Math.abs(x1 - x0) / 2)
    g.beginPath()
    g.moveTo(x0, y0)
    g.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - 1, y1)
    g.stroke()
    g.beginPath()
    g.moveTo(x1, y1)
    g.lineTo(x1 - 7, y1 - 4)
    g.lineTo(x1 - 7, y1 + 4)
    g.fill()
  }
  g.globalAlpha = 1
  g.lineWidth = 1
}

function span(t, g) {
  const range = t.dragging?.span || t.span
  if (!range) return
  const [x0, x1] = range.map((ns) => t.x(ns))
  const top = t.rows.miniHeight + AXIS
  g.fillStyle = t.look.accent
  g.globalAlpha = 0.13
  g.fillRect(x0, top, x1 - x0, t.height - top)
  g.globalAlpha = 1
  g.strokeStyle = t.look.accent
  g.setLineDash([4, 3])
  g.strokeRect(x0, top + 0.5, x1 - x0, t.height - top - 1)
  g.setLineDash([])
  const text = duration(range[1] - range[0])
  g.font = font(t, 11, 600)
  const w = g.measureText(text).width + 12
  const x = Math.min(Math.max((x0 + x1) / 2 - w / 2, LEFT), LEFT + t.plotWidth - w)
  g.fillStyle = t.look.accent
  g.fillRect(x, top + 3, w, 17)
  g.fillStyle = t.look.surface
  g.fillText(text, x + 6, top + 12)
}

function message(t, g) {
  const y = t.rows.groups[0].y + 44
  g.font = font(t, 13)
  const text = t.error || "Loading events…"
  const w = Math.min(t.plotWidth - 20, g.measureText(text).width + 28)
  g.fillStyle = t.look.surface
  g.fillRect(LEFT + 10, y - 16, w, 32)
  g.strokeStyle = t.look.line
  g.strokeRect(LEFT + 10.5, y - 15.5, w, 31)
  g.fillStyle = t.look.ink
  g.fillText(fitted(g, text, w - 24), LEFT + 24, y)
}

/** "51 % busy, 23 % waiting · 6 120 events": without the number of events where it has no room. */
export function noteThatFits(g, note, room) {
  const parts = note.split(" · ")
  while (parts.length > 1 && g.measureText(parts.join(" · ")).width > room) parts.pop()
  return fitted(g, parts.join(" · "), room)
}

/** As much of the text as fits, with an ellipsis. */
function fitted(g, text, room) {
  if (g.measureText(text).width <= room) return text
  let [fits, tooLong] = [0, text.length]
  while (tooLong - fits > 1) {
    const middle = (fits + tooLong) >> 1
    if (g.measureText(`${text.slice(0, middle)}…`).width <= room) fits = middle
    else tooLong = middle
  }
  return fits ? `${text.slice(0, fits)}…` : ""
}
