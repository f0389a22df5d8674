// The timeline: what is shown (runs, view, selection, hidden categories) and the verbs on it.
// Drawing, input, packets and the address bar are modules of their own.
import { parametersOf, readParameters, writeAddressBar } from "./address.js"
import { pixel } from "./bitmap.js"
import { draw, tickStep } from "./draw.js"
import { Find } from "./find.js"
import { count, duration, moment } from "./format.js"
import { eventOf, showTip } from "./hit.js"
import { listen } from "./input.js"
import { LEFT, rowsOf, startsCollapsed } from "./rows.js"
import { Source } from "./source.js"

const LEAST_NS = 100 // of a view; kernels take about 1000
const PAGE_HEAD = 64 // px: what lies over the top of the page; as much is left free at its bottom
const EDGE = 0.01 // of everything, left free on either side
const STILL_MS = 500 // without a change: then the address bar and the spoken text follow

export class Timeline {
  constructor(root) {
    this.root = root.querySelector(".timeline")
    this.canvas = root.querySelector("canvas")
    this.context = this.canvas.getContext("2d", { alpha: false })
    this.tip = root.querySelector(".tip")
    this.legend = root.querySelector(".legend")
    this.status = root.querySelector(".status")
    this.spoken = root.querySelector(".spoken")
    root.querySelector(".waiting")?.remove() // from here on the canvas says itself what it waits for
    this.runs = []
    this.categories = []
    this.hidden = new Set()
    this.toggled = new Set() // tracks that the reader opened or closed: "run/place"
    this.pinned = new Set() // tracks that stand first in their run: "run/place"
    this.selected = null
    this.span = null
    this.dragging = null
    this.frames = [] // ms of the last frames, for tests and for the curious
    this.canvas.timeline = this
    this.listening = new AbortController()
    listen(this, this.listening.signal)
    this.find = new Find(this, root, this.listening.signal)
    this.root.querySelector(".tools").onclick = (e) => this.tool(e.target.dataset.act)
    this.resizes = new ResizeObserver(() => this.resize())
    this.resizes.observe(this.canvas.parentElement)
    this.source = new Source(() => this.wish(), () => this.arrived(), (error) => this.failed(error))
  }

  destroy() {
    this.source.stop()
    this.resizes.disconnect()
    this.listening.abort()
    clearTimeout(this.still)
    cancelAnimationFrame(this.frame)
  }

  /** New data of a rerun: other runs, another step, another theme, the links of the selection. */
  update(component) {
    this.component = component
    showTip(this, null) // what it was about may be elsewhere now
    const { scene, tables, address, revision, selected } = component.data
    this.tables = tables
    const identity = JSON.stringify(scene.runs.map((run) => [run.number, run.label, run.start_ns, run.end_ns, run.n_events]))
    const others = this.identity !== identity
    this.identity = identity
    this.runs = scene.runs.map((run) => ({ ...run, ...this.keptOf(run, others), miniLanes: miniLanes(run) }))
    this.bounds = bounds(this.runs)
    this.theme(scene)
    if (revision !== this.revision) this.adopt(readParameters(address, tables), revision)
    else this.view = this.moved ? this.clamped(...this.view) : [...this.bounds]
    if (same(selected, this.selected)) this.selected = { ...this.selected, ...selected }
    this.legendButtons()
    this.layout()
    if (this.landed && this.selected?.lane !== undefined) {
      this.landed = false
      requestAnimationFrame(() => this.bringIntoView())
    }
  }

  /** Look where a link, the back button or other runs say. */
  adopt({ window, span, event }, revision) {
    this.revision = revision
    this.moved = window !== null
    this.view = window ? this.clamped(...window) : [...this.bounds]
    this.span = span
    this.selected = event && { ...event, links: [] }
    this.landed = Boolean(event)
    this.told = JSON.stringify(this.parameters()) // what is selected again after it was closed is news
  }

  /** What the address says of it as it is now. */
  parameters() {
    return parametersOf({ window: this.moved ? this.view : null, span: this.span, event: this.selected }, this.tables)
  }

  /** Packets of a run stay while its trace and its place on the axis are the same. */
  keptOf(run, others) {
    const before = others ? null : this.runs.find((r) => r.number === run.number)
    if (!before) return {}
    const { packet, packetLanes, mini } = before
    return before.offset_ns === run.offset_ns ? { packet, packetLanes, mini } : { packet, packetLanes }
  }

  theme({ categories, dark }) {
    const css = getComputedStyle(this.root)
    const value = (name, otherwise) => css.getPropertyValue(name).trim() || otherwise
    this.dark = dark
    this.categories = categories
    this.pixels = categories.map((c) => pixel(c.fill))
    this.look = {
      ink: value("--st-text-color", "#15181E"),
      surface: value("--st-background-color", "#FFFFFF"),
      raised: value("--st-secondary-background-color", "#F5F6F8"),
      line: value("--st-border-color", "#E3E6EB"),
      accent: value("--st-primary-color", "#3B5BDB"),
      font: value("--st-font", "sans-serif"),
    }
    this.restyle()
  }

  /** The pictures of lanes are made anew when this changes. */
  restyle() {
    this.style = `${this.dark}:${[...this.hidden].sort()}:${this.pixels}`
  }

  legendButtons() {
    this.legend.replaceChildren(...this.categories.map((category, i) => {
      const button = document.createElement("button")
      const swatch = document.createElement("span")
      button.type = "button"
      swatch.className = "swatch"
      swatch.style.background = category.fill
      button.append(swatch, category.label)
      button.classList.toggle("host", category.host)
      button.setAttribute("aria-pressed", String(!this.hidden.has(i)))
      button.onclick = () => {
        if (!this.hidden.delete(i)) this.hidden.add(i)
        button.setAttribute("aria-pressed", String(!this.hidden.has(i)))
        this.restyle()
        this.redraw()
      }
      return button
    }))
  }

  // --- layout ---

  layout() {
    const isPinned = (run, place) => this.pinned.has(`${run.number}/${place}`)
    this.rows = rowsOf(this.runs, (run, place) => this.isCollapsed(run, place), isPinned)
    this.resize()
  }

  isCollapsed(run, place) {
    const threads = run.tracks.slice(0, place).filter((track) => track.kind === "thread").length
    return startsCollapsed(run.tracks[place], threads) !== this.toggled.has(`${run.number}/${place}`)
  }

  /** Open or close the track whose label lies at this height. */
  toggle(y) {
    const row = this.rows.tracks.find((r) => y >= r.y && y < r.y + r.h)
    if (!row) return
    const key = `${row.run.number}/${row.place}`
    if (!this.toggled.delete(key)) this.toggled.add(key)
    this.layout()
  }

  /** Put the track whose label lies at this height first in its run, or back in its place. */
  pin(y) {
    const row = this.rows.tracks.find((r) => y >= r.y && y < r.y + r.h)
    if (!row) return
    const key = `${row.run.number}/${row.place}`
    if (!this.pinned.delete(key)) this.pinned.add(key)
    this.layout()
  }

  resize() {
    if (!this.rows) return
    const width = Math.max(LEFT + 160, this.canvas.parentElement.clientWidth)
    if (width !== this.width) for (const run of this.runs) run.mini = null
    this.width = width
    this.height = this.rows.height
    this.plotWidth = width - LEFT
    const ratio = devicePixelRatio || 1
    this.canvas.width = Math.round(width * ratio)
    this.canvas.height = Math.round(this.height * ratio)
    this.canvas.style.height = `${this.height}px`
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0)
    this.draw()
    this.source.want()
  }

  ns(x) {
    return this.view[0] + ((x - LEFT) / this.plotWidth) * (this.view[1] - this.view[0])
  }

  x(ns) {
    return LEFT + ((ns - this.view[0]) / (this.view[1] - this.view[0])) * this.plotWidth
  }

  miniNs(x) {
    return this.bounds[0] + ((x - LEFT) / this.plotWidth) * (this.bounds[1] - this.bounds[0])
  }

  // --- verbs ---

  show(start, end) {
    this.view = this.clamped(start, end)
    this.moved = true
    this.redraw()
    this.source.want()
    this.settle()
  }

  clamped(start, end) {
    const [lo, hi] = this.bounds
    const span = Math.min(hi - lo, Math.max(LEAST_NS, end - start))
    const from = Math.max(lo, Math.min(hi - span, (start + end - span) / 2))
    return [from, from + span]
  }

  zoom(factor, around) {
    const [a, b] = this.view
    const at = around ?? (a + b) / 2
    this.show(at - (at - a) * factor, at + (b - at) * factor)
  }

  move(share) {
    const by = (this.view[1] - this.view[0]) * share
    this.show(this.view[0] + by, this.view[1] + by)
  }

  center(ns) {
    const half = (this.view[1] - this.view[0]) / 2
    this.show(ns - half, ns + half)
  }

  showAll() {
    this.show(...this.bounds)
    this.moved = false // so a link without a window shows everything
  }

  /** The step at which the runs are aligned, as long as it is in the longest run. */
  showStep() {
    const ends = this.runs.flatMap((run) => run.steps.filter(([, ts]) => ts === run.offset_ns).map(([, ts, end]) => end - ts))
    if (!ends.length) return this.showAll()
    const length = Math.max(...ends)
    this.show(-length * 0.03, length * 1.05)
  }

  zoomTo(event) {
    const run = this.runs.find((r) => r.number === event.run)
    const start = event.ts_ns - run.offset_ns
    const around = Math.max(event.dur_ns, LEAST_NS) * 4
    this.show(start - around, start + event.dur_ns + around)
  }

  /** Scroll the page until the lane of the selected event is to be seen: other runs may be above. */
  bringIntoView() {
    const at = this.selected
    const row = at && this.rows.lanes.find((r) => r.run.number === at.run && r.lane === at.lane)
    const page = this.canvas.getRootNode().host?.closest("[data-testid=stMain]") ?? document.querySelector("[data-testid=stMain]")
    if (!row || !page) return
    const top = this.canvas.getBoundingClientRect().top + row.y
    const [first, last] = [PAGE_HEAD, page.getBoundingClientRect().bottom - row.h - PAGE_HEAD]
    if (top < first || top > last) page.scrollBy(0, top - (top < first ? first : last))
  }

  tool(act) {
    if (act === "in") this.zoom(0.5)
    if (act === "out") this.zoom(2)
    if (act === "step") this.showStep()
    if (act === "all") this.showAll()
  }

  select(event) {
    this.selected = event || null
    this.redraw()
    this.changed()
  }

  measure(span) {
    this.span = span.map(Math.round)
    this.redraw()
    this.changed()
  }

  clear() {
    if (!this.selected && !this.span) return
    this.selected = null
    this.span = null
    this.redraw()
    this.changed()
  }

  /** Select the next (1) or the previous (-1) event of the lane; the first to be seen at first. */
  neighbour(direction) {
    const at = this.selected
    const run = this.runs.find((r) => r.number === (at ? at.run : this.runs[0].number))
    const packet = run.packet
    if (!packet) return
    const numbers = at ? [at.lane] : this.rows.lanes.filter((r) => r.run === run).map((r) => r.lane)
    for (const lane of numbers) {
      const range = packet.byLane.get(lane)
      if (!range) continue
      const { row, table, ts } = packet.events
      for (let i = range[0]; i < range[1]; i++) {
        const found = at
          ? row[i] === at.row && table[i] === at.table && i + direction
          : packet.startNs + ts[i] >= this.view[0] + run.offset_ns && i
        if (found === false || found < range[0] || found >= range[1]) continue
        const event = eventOf(run, packet, found)
        const start = event.ts_ns - run.offset_ns
        if (start < this.view[0] || start + event.dur_ns > this.view[1]) this.center(start + event.dur_ns / 2)
        return this.select(event)
      }
    }
    if (at) this.zoomTo(at) // its neighbours are not drawn one by one yet
  }

  isSelected(run, table, row) {
    const at = this.selected
    return at !== null && at.row === row && at.table === table && at.run === run.number
  }

  // --- what follows a change ---

  /** Tell the address bar, then Python, then those who listen. */
  changed() {
    clearTimeout(this.still)
    const parameters = this.parameters()
    writeAddressBar(parameters)
    const told = JSON.stringify(parameters)
    if (told !== this.told) {
      this.told = told
      this.component.setStateValue("told", { number: Date.now(), revision: this.revision, parameters })
    }
    this.speak()
  }

  /** While the view moves nobody is told; a moment after it came to rest they are. */
  settle() {
    clearTimeout(this.still)
    this.still = setTimeout(() => this.changed(), STILL_MS)
  }

  /** One sentence for those who cannot see the canvas. */
  speak() {
    const [a, b] = this.view
    const runs = this.runs.map((run) => `${run.label}: ${count(run.packet?.nEvents ?? 0)} events here and beside it`)
    const chosen = this.selected?.name ? ` Selected: ${this.selected.name}, ${duration(this.selected.dur_ns)}.` : ""
    this.spoken.textContent = `Showing ${duration(a)} to ${duration(b)}. ${runs.join(", ")}.${chosen}`
  }

  wish() {
    if (!this.runs.length || !this.plotWidth) return null
    return {
      runs: this.runs,
      view: this.view,
      bounds: this.bounds,
      width: this.plotWidth,
      lanes: (run) => this.rows.lanes.filter((row) => row.run === run).map((row) => row.lane),
    }
  }

  arrived() {
    this.error = null
    this.draw()
    this.root.dataset.ready = String(Number(this.root.dataset.ready || 0) + 1)
  }

  failed(error) {
    // The token has expired: a rerun brings a new one, and with it new data.
    if (error.status === 401) this.component.setTriggerValue("expired", Date.now())
    this.error = error.status ? error.message : "The server does not answer; trying again…"
    this.draw()
  }

  redraw() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0
      this.draw()
    })
  }

  draw() {
    if (!this.plotWidth || !this.runs.length) return
    const started = performance.now()
    draw(this)
    this.frames.push(performance.now() - started)
    if (this.frames.length > 500) this.frames.shift()
    const [a, b] = this.view
    const step = tickStep(b - a, this.plotWidth, 2)
    const [from, to] = [a, b].map((ns) => moment(Math.round(ns / step) * step, step, b - a))
    this.status.textContent = `${from} to ${to} · ${duration(b - a)} shown`
  }
}

/** From the first to the last event of any run on the common axis, with a little air. */
function bounds(runs) {
  const lo = Math.min(...runs.map((run) => run.start_ns - run.offset_ns))
  const hi = Math.max(...runs.map((run) => run.end_ns - run.offset_ns))
  const air = Math.max(LEAST_NS, (hi - lo) * EDGE)
  return [Math.floor(lo - air), Math.ceil(hi + air)]
}

/** The lanes whose sum is the run's picture in the minimap: streams, else the first thread. */
function miniLanes(run) {
  const streams = run.tracks.filter((track) => track.kind === "stream")
  if (streams.length) return streams.map((track) => track.first_lane)
  const thread = run.tracks.find((track) => track.kind === "thread")
  return thread ? Array.from({ length: thread.n_lanes }, (_, i) => thread.first_lane + i) : []
}

function same(a, b) {
  return Boolean(a && b && a.run === b.run && a.table === b.table && a.row === b.row)
}
