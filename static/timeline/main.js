// Entry of the timeline: one Timeline for each place on the page, fed again on every rerun.
import { Timeline } from "./timeline.js"

const timelines = new WeakMap()

/** Draw, or bring up to date, the timeline below `component.parentElement`. */
export function show(component) {
  const root = component.parentElement
  if (!timelines.has(root)) timelines.set(root, new Timeline(root))
  timelines.get(root).update(component)
}

/** Stop everything that belongs to this place. */
export function remove(root) {
  timelines.get(root)?.destroy()
  timelines.delete(root)
}
