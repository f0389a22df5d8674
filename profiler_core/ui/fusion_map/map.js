// The pointer over the fusion map: what lies there is named, a click on a group is told.

const APART_PX = 14 // of the pointer and the label
const maps = new WeakMap()

export default function (component) {
  const root = component.parentElement
  let map = maps.get(root)
  if (!map) maps.set(root, (map = new FusionMap(root.querySelector(".map"))))
  map.show(component)
  return () => {
    map.close()
    maps.delete(root)
  }
}

class FusionMap {
  constructor(place) {
    this.place = place
    this.listening = new AbortController()
    const { signal } = this.listening
    place.addEventListener("pointermove", (event) => this.name(event), { signal })
    place.addEventListener("pointerleave", () => this.hover?.replaceChildren(), { signal })
    place.addEventListener("click", (event) => this.tell(event), { signal })
    // The dossier that a click opens takes a part of the window, and a wide map scrolls there.
    this.narrowing = new ResizeObserver(() => this.bringIntoView())
    const scroller = document.querySelector(".st-key-fs_map_scroll")
    if (scroller) this.narrowing.observe(scroller)
  }

  /** Draw what the server has made, unless it stands there; it has escaped all names. */
  show({ data, setTriggerValue }) {
    this.trigger = setTriggerValue
    this.place.classList.toggle("asks", data.asks)
    this.asks = data.asks
    if (data.panel !== this.panel) this.picked = undefined
    this.panel = data.panel
    if (data.markup === this.markup) return
    this.markup = data.markup
    this.place.innerHTML = data.markup
    this.hover = document.createElement("div")
    this.hover.className = "hover"
    Object.assign(this.hover.style, data.label)
    this.place.append(this.hover)
  }

  name(event) {
    const strip = event.target.closest(".strip")
    if (!strip) return this.hover.replaceChildren()
    const lines = strip.dataset.hover.split("\n").map((text) => {
      const line = document.createElement("div")
      line.textContent = text
      return line
    })
    this.hover.replaceChildren(...lines)
    const around = this.place.getBoundingClientRect()
    const [x, y] = [event.clientX - around.left, event.clientY - around.top]
    const left = x + APART_PX + this.hover.offsetWidth > around.width ? x - APART_PX - this.hover.offsetWidth : x + APART_PX
    const bottom = Math.min(around.height, innerHeight - around.top)
    const top = Math.min(y + APART_PX, bottom - this.hover.offsetHeight)
    this.hover.style.left = `${Math.max(0, left)}px`
    this.hover.style.top = `${Math.max(0, top)}px`
  }

  tell(event) {
    const { position, panel } = event.target.closest(".strip")?.dataset ?? {}
    if (!this.asks || position === undefined) return
    this.picked = `.strip[data-position="${position}"][data-panel="${panel}"]`
    this.trigger("picked", [Number(position), Number(panel)])
  }

  bringIntoView() {
    if (this.picked) this.place.querySelector(this.picked)?.scrollIntoView({ block: "nearest", inline: "nearest" })
    else this.bringPanelIntoView()
  }

  /** The candidate that the page is about, its left end first; the page itself is not scrolled. */
  bringPanelIntoView() {
    const scroller = document.querySelector(".st-key-fs_map_scroll")
    const strip = this.place.querySelector(`.strip[data-panel="${this.panel}"]`)
    if (!scroller || !strip) return
    const [own, room] = [strip.getBoundingClientRect(), scroller.getBoundingClientRect()]
    const beyond = Math.min(own.right - room.right, own.left - room.left)
    if (beyond > 0) scroller.scrollLeft += beyond
  }

  close() {
    this.listening.abort()
    this.narrowing.disconnect()
  }
}
