// Mouse, touch and keyboard -> the timeline's verbs.
import { LEFT, PIN } from "./rows.js"
import { hit, showTip } from "./hit.js"

const CLICK_PX = 4 // a press that moves less is a click

/** Listen on the canvas until `signal` aborts. */
export function listen(t, signal) {
  const canvas = t.canvas
  const pointers = new Map()
  const on = (name, handler, options = {}) => canvas.addEventListener(name, handler, { signal, ...options })
  const place = (e) => {
    const box = canvas.getBoundingClientRect()
    return [e.clientX - box.left, e.clientY - box.top]
  }

  on("wheel", (e) => {
    const [x, y] = place(e)
    if (x < LEFT) return // the page scrolls
    e.preventDefault()
    showTip(t, null) // what lies below the pointer moves away
    if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
      t.move((e.deltaX || e.deltaY) / t.plotWidth)
    } else {
      t.zoom(Math.exp(Math.max(-120, Math.min(120, e.deltaY)) * 0.0022), y < t.rows.miniHeight ? undefined : t.ns(x))
    }
  }, { passive: false })

  on("pointerdown", (e) => {
    if (e.button) return
    const [x, y] = place(e)
    canvas.setPointerCapture(e.pointerId)
    pointers.set(e.pointerId, [x, y])
    if (pointers.size === 2) {
      t.dragging = { kind: "pinch", ...pinch(pointers), view: [...t.view] }
    } else if (y < t.rows.miniHeight && x >= LEFT) {
      t.dragging = { kind: "mini" }
      t.center(t.miniNs(x))
    } else {
      t.dragging = { kind: e.shiftKey ? "span" : "pan", x, y, view: [...t.view], from: t.ns(x), moved: false }
    }
  })

  on("pointermove", (e) => {
    const [x, y] = place(e)
    const drag = t.dragging
    if (!drag) {
      const found = hit(t, x, y)
      canvas.style.cursor = x < LEFT ? "pointer" : found?.kind === "event" ? "pointer" : "grab"
      showTip(t, found, x, y)
      return
    }
    if (pointers.has(e.pointerId)) pointers.set(e.pointerId, [x, y])
    if (drag.kind === "mini") return t.center(t.miniNs(x))
    if (drag.kind === "pinch") return pinched(t, drag, pointers)
    if (Math.abs(x - drag.x) + Math.abs(y - drag.y) > CLICK_PX) drag.moved = true
    if (!drag.moved || drag.x < LEFT) return
    showTip(t, null)
    if (drag.kind === "span") {
      const to = t.ns(x)
      drag.span = [Math.min(drag.from, to), Math.max(drag.from, to)]
      t.redraw()
    } else {
      canvas.style.cursor = "grabbing"
      const perPixel = (drag.view[1] - drag.view[0]) / t.plotWidth
      t.show(drag.view[0] - (x - drag.x) * perPixel, drag.view[1] - (x - drag.x) * perPixel)
    }
  })

  const released = (e) => {
    const drag = t.dragging
    pointers.delete(e.pointerId)
    if (!drag || (drag.kind === "pinch" && pointers.size)) return
    t.dragging = null
    if (e.type === "pointercancel" || drag.kind === "mini" || drag.kind === "pinch") return t.redraw()
    if (drag.span) return t.measure(drag.span)
    if (drag.moved) return
    const [x, y] = place(e)
    if (x < LEFT) return x >= LEFT - PIN ? t.pin(y) : t.toggle(y)
    const found = hit(t, x, y)
    if (found?.kind === "pixel") t.zoom(0.25, t.ns(x))
    else t.select(found)
  }
  on("pointerup", released)
  on("pointercancel", released)
  const hideTip = () => showTip(t, null)
  on("pointerleave", hideTip)
  on("blur", hideTip)
  window.addEventListener("blur", hideTip, { signal })
  document.addEventListener("scroll", hideTip, { signal, capture: true, passive: true })
  // A pointer that jumps, as over a panel that opens, leaves without telling the canvas.
  document.addEventListener("pointermove", (e) => e.composedPath()[0] !== canvas && hideTip(), { signal, passive: true })
  on("dblclick", (e) => {
    const found = hit(t, ...place(e))
    if (found?.kind === "event") t.zoomTo(found)
  })
  on("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return
    const act = KEYS[e.key.length === 1 ? e.key.toLowerCase() : e.key]
    if (!act) return
    e.preventDefault()
    showTip(t, null)
    act(t)
  })
}

const KEYS = {
  w: (t) => t.zoom(0.7),
  "+": (t) => t.zoom(0.7),
  "=": (t) => t.zoom(0.7),
  s: (t) => t.zoom(1 / 0.7),
  "-": (t) => t.zoom(1 / 0.7),
  a: (t) => t.move(-0.15),
  ArrowLeft: (t) => t.move(-0.15),
  d: (t) => t.move(0.15),
  ArrowRight: (t) => t.move(0.15),
  f: (t) => t.showAll(),
  0: (t) => t.showAll(),
  Home: (t) => t.showStep(),
  ",": (t) => t.neighbour(-1),
  ".": (t) => t.neighbour(1),
  Enter: (t) => t.selected && t.zoomTo(t.selected),
  Escape: (t) => t.clear(),
}

function pinch(pointers) {
  const [[x0], [x1]] = [...pointers.values()]
  return { distance: Math.max(20, Math.abs(x1 - x0)), middle: (x0 + x1) / 2 }
}

function pinched(t, drag, pointers) {
  if (pointers.size < 2) return
  const now = pinch(pointers)
  const span = ((drag.view[1] - drag.view[0]) * drag.distance) / now.distance
  const held = drag.view[0] + ((drag.middle - LEFT) / t.plotWidth) * (drag.view[1] - drag.view[0])
  const start = held - ((now.middle - LEFT) / t.plotWidth) * span
  t.show(start, start + span)
}
