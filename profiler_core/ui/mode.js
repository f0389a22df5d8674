// A switch between light and dark causes no run of the page: Python is told, and draws anew.

const watches = new WeakMap()

export default function (component) {
  const root = component.parentElement
  let watch = watches.get(root)
  if (!watch) watches.set(root, (watch = new Watch()))
  watch.show(component)
  return () => {
    watch.close()
    watches.delete(root)
  }
}

class Watch {
  constructor() {
    this.app = document.querySelector("[data-testid=stApp]")
    this.observer = new MutationObserver(() => this.look())
    this.observer.observe(this.app, { attributes: true, attributeFilter: ["class"] })
  }

  show({ data, setTriggerValue }) {
    this.trigger = setTriggerValue
    this.drawn = data.mode
    this.look()
  }

  /** Each mode is reported once: a server that does not take it in is not asked without end. */
  look() {
    const mode = getComputedStyle(this.app).colorScheme
    if (mode === this.drawn) this.reported = ""
    else if (mode !== this.reported) this.trigger("mode", (this.reported = mode))
  }

  close() {
    this.observer.disconnect()
  }
}
