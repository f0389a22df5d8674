// Gets packets: for every run the window and half of it on either side, at the width of the
// screen. At most one round of requests is under way; a newer wish waits for it (an abort for
// each frame of a drag would only waste the server, a debounce would starve while dragging).
import { decode } from "./packet.js"

const PAUSE_MS = 40 // between a change of the view and asking for it
const AHEAD = 0.5
const RETRY_MS = 2000

export class Source {
  /** `wish()` says what is wanted: {runs, view, bounds, width, lanes(run)}; null: nothing. */
  constructor(wish, arrived, failed) {
    this.wish = wish
    this.arrived = arrived
    this.failed = failed
    this.timer = 0
    this.busy = false
    this.again = false
    this.latencies = [] // ms of the last rounds, for tests and for the curious
  }

  /** The view has changed: ask soon, if what is there does not do. */
  want() {
    this.timer ||= setTimeout(() => {
      this.timer = 0
      this.round()
    }, PAUSE_MS)
  }

  stop() {
    clearTimeout(this.timer)
    this.stopped = true
  }

  async round() {
    const wish = this.stopped ? null : this.wish()
    if (!wish) return
    const missing = wish.runs.filter((run) => !suffices(run, wish))
    if (!missing.length && wish.runs.every((run) => run.mini)) return
    if (this.busy) {
      this.again = true
      return
    }
    this.busy = true
    const started = performance.now()
    try {
      const [from, to] = ahead(wish.view, wish.bounds)
      const width = (wish.width * (to - from)) / (wish.view[1] - wish.view[0])
      const packets = await Promise.all(missing.map((run) => get(run, from, to, width, wish.lanes(run))))
      missing.forEach((run, i) => {
        run.packet = packets[i]
        run.packetLanes = wish.lanes(run).join()
      })
      this.note(performance.now() - started)
      if (!this.stopped) this.arrived()
      await this.minimaps(wish)
    } catch (error) {
      if (!this.stopped) {
        this.failed(error)
        if (!error.final) setTimeout(() => this.want(), RETRY_MS)
      }
    } finally {
      this.busy = false
      if (this.again) {
        this.again = false
        this.want()
      }
    }
  }

  /** The small picture of everything, once for each run and width. */
  async minimaps(wish) {
    const runs = wish.runs.filter((run) => !run.mini)
    if (!runs.length) return
    const [from, to] = wish.bounds
    const packets = await Promise.all(
      runs.map((run) => get(run, from, to, wish.width, run.miniLanes))
    )
    runs.forEach((run, i) => (run.mini = packets[i]))
    if (!this.stopped) this.arrived()
  }

  note(ms) {
    this.latencies.push(ms)
    if (this.latencies.length > 200) this.latencies.shift()
  }
}

/** Does the packet that is there cover the view, sharp enough and with all lanes? */
function suffices(run, { view, bounds, width, lanes }) {
  const packet = run.packet
  if (!packet || run.packetLanes !== lanes(run).join()) return false
  const [start, end] = [packet.startNs - run.offset_ns, packet.endNs - run.offset_ns]
  const span = view[1] - view[0]
  const slack = span * 0.02
  if (start > Math.max(view[0], bounds[0]) + slack) return false
  if (end < Math.min(view[1], bounds[1]) - slack) return false
  if (!packet.shares.size) return true // all events are there: sharp at any zoom
  const perPixel = (packet.endNs - packet.startNs) / packet.width
  return Math.abs(perPixel / (span / width) - 1) < 0.05
}

function ahead([start, end], [lo, hi]) {
  const more = (end - start) * AHEAD
  return [Math.max(lo, start - more), Math.min(hi, end + more)]
}

async function get(run, from, to, width, lanes) {
  const query = new URLSearchParams({
    start_ns: Math.floor(from + run.offset_ns),
    end_ns: Math.ceil(to + run.offset_ns),
    width: Math.round(width),
    lanes: lanes.join(),
  })
  const url = new URL(`api/timeline/view?${query}`, document.baseURI)
  const answer = await fetch(url, { headers: { "X-Fusionscope-Token": run.token } })
  if (!answer.ok) throw await refusal(answer)
  return decode(await answer.arrayBuffer(), run.categories)
}

async function refusal(answer) {
  let text = `The server answered ${answer.status}.`
  try {
    const said = await answer.json()
    text = `${said.problem} ${said.remedy}`
  } catch {
    // not one of our own answers, a proxy's perhaps: the status has to do
  }
  const error = new Error(text)
  error.status = answer.status
  error.final = answer.status < 500
  return error
}
