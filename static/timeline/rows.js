// Which row lies where: a group for each run, tracks in it, lanes in them. Pixels of the page.

export const LEFT = 184 // the labels' column; wheel and touch scroll the page there
export const PIN = 20 // of it, at its right edge
export const AXIS = 22
const MINI_RUN = 15
const MINI_PAD = 6
const GROUP = 24
const TRACK_GAP = 5
const GROUP_GAP = 12

const LANE_HEIGHT = { stream: 34, ranges: 16, thread: 17, python: 13 }
const DEEPER_STREAM = 18 // kernels that run beside others of their stream
const COLLAPSED = 18

// Threads beyond this many start collapsed: a hundred pool threads must not push the rest away.
const OPEN_THREADS = 4

/** Is this track shown as its label only when the page opens? */
export function startsCollapsed(track, place) {
  return track.kind === "python" || (track.kind === "thread" && place >= OPEN_THREADS)
}

/**
 * {height, miniHeight, groups, tracks, lanes}: each with run, y and h; lanes have their number.
 * `isCollapsed(run, place)` says which tracks show nothing but their label, `isPinned(run, place)`
 * which stand before the others.
 */
export function rowsOf(runs, isCollapsed, isPinned) {
  const miniHeight = runs.length * MINI_RUN + MINI_PAD
  const groups = []
  const tracks = []
  const lanes = []
  let y = miniHeight + AXIS
  for (const run of runs) {
    const group = { run, y, h: GROUP }
    groups.push(group)
    y += GROUP + 3
    const places = run.tracks.map((_, place) => place)
    places.sort((a, b) => isPinned(run, b) - isPinned(run, a) || a - b)
    places.forEach((place) => {
      const track = run.tracks[place]
      const pinned = isPinned(run, place)
      const collapsed = isCollapsed(run, place)
      const row = { run, track, place, pinned, y, h: COLLAPSED, collapsed }
      if (!collapsed) {
        let top = y
        for (let depth = 0; depth < track.n_lanes; depth++) {
          const h = track.kind === "stream" && depth ? DEEPER_STREAM : LANE_HEIGHT[track.kind]
          lanes.push({ run, track, lane: track.first_lane + depth, depth, y: top, h })
          top += h
        }
        row.h = Math.max(COLLAPSED, top - y)
      }
      tracks.push(row)
      y += row.h + TRACK_GAP
    })
    group.bottom = y - TRACK_GAP
    y += GROUP_GAP
  }
  return { height: y - GROUP_GAP + 6, miniHeight, miniRun: MINI_RUN, groups, tracks, lanes }
}
