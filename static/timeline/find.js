// Search in the timeline: hits stand out, Enter and the buttons go from one to the next.
import { count } from "./format.js"

const WAIT_MS = 160
const NARROW_PX = 3 // a hit that is narrower cannot be seen: zoom in on it

export class Find {
  constructor(t, root, signal) {
    this.t = t
    this.words = []
    this.input = root.querySelector(".find input")
    this.said = root.querySelector(".find output")
    this.input.addEventListener("input", () => this.typed(), { signal })
    this.input.addEventListener("keydown", (e) => this.key(e), { signal })
    root.querySelector(".find .before").addEventListener("click", () => this.go(false), { signal })
    root.querySelector(".find .after").addEventListener("click", () => this.go(true), { signal })
  }

  key(e) {
    if (e.key === "Enter") this.go(!e.shiftKey)
    if (e.key === "Escape") {
      this.input.value = ""
      this.typed()
    }
    if (e.key === "Enter" || e.key === "Escape") e.preventDefault()
  }

  typed() {
    this.words = this.input.value.toLowerCase().split(/\s+/).filter(Boolean)
    this.said.textContent = ""
    this.t.redraw()
    clearTimeout(this.waiting)
    if (this.words.length) this.waiting = setTimeout(() => this.go(true, this.t.view[0] - 1), WAIT_MS)
  }

  /** For each name of a packet: is it meant? null: nothing is looked for. */
  meant(packet) {
    if (!this.words.length) return null
    const key = this.words.join(" ")
    if (packet.meantBy !== key) {
      packet.meantBy = key
      packet.meant = packet.names.map((name) => this.words.every((word) => name.toLowerCase().includes(word)))
    }
    return packet.meant
  }

  /** Select the next hit, or the one before; from the other end where there is none. */
  async go(forward, from) {
    if (!this.words.length) return this.input.focus()
    const at = this.t.selected
    const run = at && this.t.runs.find((r) => r.number === at.run)
    const here = from ?? (run ? at.ts_ns - run.offset_ns : this.t.view[0])
    const asked = this.words.join(" ")
    const hits = (await this.ask(asked, here, forward)) ?? (await this.ask(asked, this.t.bounds[forward ? 0 : 1], forward))
    if (asked !== this.words.join(" ")) return // other words were typed meanwhile
    this.said.textContent = hits ? `${count(hits.number)} of ${count(hits.n)}` : "no event"
    if (hits) this.reveal(hits.event)
  }

  /** Select an event that may be anywhere: its track is opened, and it is brought into view. */
  reveal(event) {
    const t = this.t
    const run = t.runs.find((r) => r.number === event.run)
    const place = run.tracks.findIndex(({ first_lane, n_lanes }) => event.lane >= first_lane && event.lane < first_lane + n_lanes)
    const row = t.rows.tracks.find((r) => r.run === run && r.place === place)
    if (row?.collapsed) t.toggle(row.y)
    const start = event.ts_ns - run.offset_ns
    const [a, b] = t.view
    if ((event.dur_ns / (b - a)) * t.plotWidth < NARROW_PX) t.zoomTo(event)
    else if (start < a || start + event.dur_ns > b) t.center(start + event.dur_ns / 2)
    t.select(event)
    t.bringIntoView()
  }

  /** {event, number, n} over all runs; null: none on this side. */
  async ask(words, here, forward) {
    const answers = await Promise.all(this.t.runs.map((run) => get(run, words, here, forward)))
    const found = answers.filter((answer) => answer.hit)
    if (!found.length) return null
    const start = ({ run, hit }) => hit.ts_ns - run.offset_ns
    found.sort((a, b) => (forward ? start(a) - start(b) : start(b) - start(a)))
    const { run, hit } = found[0]
    const before = answers.reduce((sum, answer) => sum + answer.nBefore, 0)
    return {
      event: { kind: "event", run: run.number, links: [], ...hit, category: run.categories[hit.category] },
      number: before + 1,
      n: answers.reduce((sum, answer) => sum + answer.n, 0),
    }
  }
}

async function get(run, words, here, forward) {
  const query = new URLSearchParams({ words, at_ns: Math.round(here + run.offset_ns), way: forward ? "after" : "before" })
  const answer = await fetch(new URL(`api/timeline/find?${query}`, document.baseURI), {
    headers: { "X-Fusionscope-Token": run.token },
  })
  if (!answer.ok) return { run, hit: null, n: 0, nBefore: 0 }
  const { hit, n, n_before } = await answer.json()
  return { run, hit, n, nBefore: n_before }
}
