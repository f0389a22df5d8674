// Where the timeline looks, as parameters of the URL: window, span, event (times in ns on the
// common axis). The other end is profiler_core/ui/timeline/address.py.

const NAMES = ["window", "span", "event"]

/** {window, span, event} from parameters; null where they say nothing. */
export function readParameters(parameters, tables) {
  return {
    window: span(parameters.window),
    span: span(parameters.span),
    event: event(parameters.event, tables),
  }
}

/** The parameters that say so; those that say nothing are left out. */
export function parametersOf({ window, span, event }, tables) {
  const parameters = {}
  if (window) parameters.window = window.map(Math.round).join("_")
  if (span) parameters.span = span.map(Math.round).join("_")
  if (event) parameters.event = `${event.run}.${tables[event.table]}.${event.row}`
  return parameters
}

/**
 * Put them into the address bar; everything else in it stays.
 *
 * replaceState, not pushState: a hundred zooms must not lie between the reader and the page that
 * they came from. The text is what Python will write a moment later (same order, same escapes),
 * so that Streamlit finds nothing to add to the history.
 */
export function writeAddressBar(parameters) {
  const query = new URLSearchParams(location.search)
  for (const name of NAMES) {
    if (name in parameters) query.set(name, parameters[name])
    else query.delete(name)
  }
  const text = query.toString().replaceAll("%7E", "~")
  const search = text ? `?${text}` : ""
  if (search !== location.search) {
    history.replaceState(history.state, "", location.pathname + search + location.hash)
  }
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
