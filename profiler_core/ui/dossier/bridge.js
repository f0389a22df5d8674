// What opens and closes the dossier: links with data-item anywhere on the page, Esc, the button.
// So does a click on a box of an icicle, which zooms into it: its custom data is the item.
// Links with data-page lead to another page of the app, which is not loaded anew for that.

const bridges = new WeakMap()

export default function (component) {
  const root = component.parentElement
  let bridge = bridges.get(root)
  if (!bridge) bridges.set(root, (bridge = new Bridge(root)))
  bridge.show(component)
  return () => {
    bridge.close()
    bridges.delete(root)
  }
}

class Bridge {
  constructor(root) {
    this.button = root.querySelector(".close")
    this.listening = new AbortController()
    const { signal } = this.listening
    this.button.addEventListener("click", () => this.tell(""), { signal })
    document.addEventListener("click", (event) => this.follow(event), { signal, capture: true })
    document.addEventListener("pointerdown", (event) => this.listenToBoxes(event), { signal, capture: true })
    // Before a table takes the key for itself.
    document.addEventListener("keydown", (event) => this.escape(event), { signal, capture: true })
  }

  show({ data, setTriggerValue }) {
    this.trigger = setTriggerValue
    this.box ??= ({ points }) => void (points?.[0]?.customdata && this.trigger("picked", points[0].customdata))
    this.button.hidden = !data.item
    const panel = this.button.getRootNode().host?.closest(".st-key-fs_dossier") ?? document.querySelector(".st-key-fs_dossier")
    panel?.setAttribute("role", "complementary")
    panel?.setAttribute("aria-label", "Dossier")
    if (data.item !== this.item) panel?.scrollTo(0, 0)
    const landed = this.item === undefined && data.item
    this.item = data.item
    if (landed) this.bringIntoView(panel)
  }

  /** A link has led here: what it is about is brought into view, where the page names it. */
  bringIntoView(panel) {
    const link = [...document.querySelectorAll("a[data-item]")].find(
      (each) => each.dataset.item === this.item && !panel?.contains(each),
    )
    link?.classList.add("fs-here")
    link?.scrollIntoView({ block: "center" })
  }

  /** A plain click on a link opens its dossier, or its page, here; any other one is the browser's. */
  follow(event) {
    if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    const link = event.composedPath().find((node) => node.dataset?.item || node.dataset?.page !== undefined)
    if (!link) return
    event.preventDefault()
    event.stopPropagation()
    if (link.dataset.item) this.tell(link.dataset.item)
    else this.leaveFor(link.href)
  }

  /** Plotly says which box is clicked; it forgets who asked when it draws a figure anew. */
  listenToBoxes(event) {
    const plot = event.composedPath().find((node) => node.classList?.contains("js-plotly-plot"))
    if (!plot?.on) return
    plot.removeListener("plotly_icicleclick", this.box)
    plot.on("plotly_icicleclick", this.box)
  }

  /** Another page of the app, as the back button goes to one: nothing is loaded anew. */
  leaveFor(address) {
    history.pushState({}, "", address)
    dispatchEvent(new PopStateEvent("popstate", { state: {} }))
  }

  /** Esc closes it, unless something else is open or being written in. */
  escape(event) {
    if (event.key !== "Escape" || !this.item) return
    if (event.composedPath()[0].closest?.("input, textarea, [role=dialog], [data-baseweb=popover]")) return
    if (document.querySelector("[data-baseweb=popover], [role=dialog]")) return
    event.preventDefault()
    event.stopPropagation() // a table would clear its selection, which runs the page again
    this.tell("")
  }

  tell(item) {
    this.trigger("dossier", item || `close@${Date.now()}`)
  }

  close() {
    this.listening.abort()
  }
}
