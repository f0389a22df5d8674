// The part of the URL that belongs to the timeline: window, event, span (times in ns on the
// common axis). The other end is profiler_core/ui/timeline/address.py.
//
// replaceState, not pushState: a hundred zooms must not lie between the reader and the page
// that they came from. Streamlit reads the address bar on every rerun, so Python sees it too.

/** What the address bar says: {window, event, span}, null where it says nothing. */
export function readAddress(tables) {
  const query = new URLSearchParams(location.search)
  return {
    window: span(query.get("window")),
    event: event(query.get("event"), tables),
    span: span(query.get("span")),
  }
}

/** Put it there; everything else in the address stays as it is. */
export function writeAddress(address, tables) {
  const query = new URLSearchParams(location.search)
  put(query, "window", address.window && address.window.map(Math.round).join("_"))
  put(query, "span", address.span && address.span.map(Math.round).join("_"))
  const e = address.event
  put(query, "event", e && `${e.run}.${tables[e.table]}.${e.row}`)
  const text = query.toString()
  const url = location.pathname + (text ? `?${text}` : "") + location.hash
  if (url !== location.pathname + location.search + location.hash) {
    history.replaceState(history.state, "", url)
  }
}

function put(query, name, text) {
  if (text) query.set(name, text)
  else query.delete(name)
}

function span(text) {
  const match = /^(-?\d{1,16})_(-?\d{1,16})$/.exec(text || "")
  if (!match) return null
  const [start, end] = [Number(match[1]), Number(match[2])]
  return start < end ? [start, end] : null
}

function event(text, tables) {
  const match = /^(\d{1,3})\.(\w+)\.(\d{1,10})$/.exec(text || "")
  if (!match || !tables.includes(match[2])) return null
  return { run: Number(match[1]), table: tables.indexOf(match[2]), row: Number(match[3]) }
}
