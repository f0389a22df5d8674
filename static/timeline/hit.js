// What lies under the pointer, and the box that says so.
import { count, duration } from "./format.js"
import { LEFT } from "./rows.js"

const NEAR_PX = 3 // an event narrower than a pixel can still be met

/** {kind: "event", …}, {kind: "pixel", …} or null, at this point of the canvas. */
export function hit(t, x, y) {
  if (x < LEFT) return null
  const row = t.rows.lanes.find((r) => y >= r.y && y < r.y + r.h)
  const packet = row?.run.packet
  if (!packet) return null
  const at = t.ns(x) + row.run.offset_ns - packet.startNs
  return eventAt(t, row, packet, at) || pixelAt(t, row, packet, at)
}

/** Number i of the packet's events as the timeline knows an event. */
export function eventOf(run, packet, i) {
  const { ts, dur, row, name, lane, category, table } = packet.events
  return {
    kind: "event",
    run: run.number,
    table: table[i],
    row: row[i],
    lane: lane[i],
    ts_ns: packet.startNs + ts[i],
    dur_ns: dur[i],
    name: packet.names[name[i]],
    category: category[i],
    links: [],
  }
}

function eventAt(t, { run, lane }, packet, at) {
  const range = packet.byLane.get(lane)
  if (!range) return null
  const { ts, dur, category } = packet.events
  const near = (NEAR_PX * (t.view[1] - t.view[0])) / t.plotWidth
  let best = -1
  let distance = near
  // Events of a lane are in order and do not overlap: the last that begins before, or the next.
  let [low, high] = range
  while (low < high) {
    const middle = (low + high) >> 1
    if (ts[middle] <= at) low = middle + 1
    else high = middle
  }
  for (const i of [low - 1, low]) {
    if (i < range[0] || i >= range[1] || t.hidden.has(category[i])) continue
    const away = Math.max(0, ts[i] - at, at - ts[i] - dur[i])
    if (away <= distance) [best, distance] = [i, away]
    if (away === 0) break
  }
  return best < 0 ? null : eventOf(run, packet, best)
}

function pixelAt(t, { run, lane }, packet, at) {
  const stack = packet.shares.get(lane)
  const i = Math.floor((at / (packet.endNs - packet.startNs)) * packet.width)
  if (!stack || i < 0 || i >= packet.width) return null
  const busy = stack
    .filter(({ category, share }) => share[i] && !t.hidden.has(category))
    .map(({ category, share }) => ({ category, share: share[i] / 255 }))
    .sort((a, b) => b.share - a.share)
  return { kind: "pixel", run: run.number, lane, n: packet.counts.get(lane)?.[i] ?? 0, busy }
}

/** Fill and place the tooltip; null hides it. Names are untrusted: text nodes only. */
export function showTip(t, found, x, y) {
  const tip = t.tip
  tip.hidden = !found || (found.kind === "pixel" && !found.busy.length)
  if (tip.hidden) return
  tip.replaceChildren()
  const title = document.createElement("b")
  tip.append(title)
  if (found.kind === "event") {
    title.textContent = found.name
    const run = t.runs.find((r) => r.number === found.run)
    line(t, found.category, `${t.categories[found.category].label} · ${duration(found.dur_ns)} · starts at ${duration(found.ts_ns - run.offset_ns)}`)
  } else {
    title.textContent = `${count(found.n)} ${found.n === 1 ? "event starts" : "events start"} in this pixel`
    for (const { category, share } of found.busy.slice(0, 5)) {
      line(t, category, `${t.categories[category].label} ${share < 0.01 ? "< 1" : Math.round(share * 100)} % of the time`)
    }
  }
  const { offsetWidth: w, offsetHeight: h } = tip
  tip.style.left = `${Math.max(4, Math.min(x + 14, t.width - w - 8))}px`
  tip.style.top = `${y + 20 + h > t.height + 60 ? y - h - 10 : y + 20}px`
}

function line(t, category, text) {
  const row = document.createElement("div")
  const swatch = document.createElement("span")
  swatch.className = "swatch"
  swatch.style.background = t.categories[category].fill
  row.append(swatch, text)
  t.tip.append(row)
}
