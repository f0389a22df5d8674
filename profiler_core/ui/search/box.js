// The search box: opened by / and Ctrl-K, asks the server as one types, leads to dossiers.

const boxes = new WeakMap()
const WAIT_MS = 140
let page = location.pathname // outlives the box: which page was drawn last
const BACK = 18 // characters of a long name that are never cut: they tell names apart

export default function (component) {
  const root = component.parentElement
  let box = boxes.get(root)
  if (!box) boxes.set(root, (box = new Box(root)))
  box.show(component)
  return () => {
    box.close()
    boxes.delete(root)
  }
}

class Box {
  constructor(root) {
    this.root = root
    this.veil = root.querySelector(".veil")
    this.input = root.querySelector("input")
    this.note = root.querySelector(".note")
    this.list = root.querySelector(".results")
    this.chosen = 0
    this.answered = "" // the words that the list below them answers
    this.entered = false // Enter was pressed before that
    this.listening = new AbortController()
    const { signal } = this.listening
    document.addEventListener("keydown", (event) => this.key(event), { signal, capture: true })
    root.querySelector("button.open").addEventListener("click", () => this.open(), { signal })
    this.veil.addEventListener("pointerdown", (event) => event.target === this.veil && this.hide(), { signal })
    this.input.addEventListener("input", () => this.ask(), { signal })
    this.input.addEventListener("keydown", (event) => this.move(event), { signal })
    // Before the dossier's own listener, which takes the click.
    const clicked = (event) => event.composedPath().includes(this.list) && setTimeout(() => this.hide())
    window.addEventListener("click", clicked, { signal, capture: true })
    this.catchUp()
  }

  show({ data, setTriggerValue }) {
    this.trigger = setTriggerValue
    this.beginAtTheTop()
    if (data.words !== this.words()) return // an older answer
    this.none = data.none
    this.draw(data.results)
    if (this.entered) this.follow()
  }

  /** Another page begins with its first line: Streamlit may leave it as far down as the last one. */
  beginAtTheTop() {
    if (page === location.pathname) return
    page = location.pathname
    document.querySelector("[data-testid=stMain]")?.scrollTo(0, 0)
  }

  words() {
    return this.input.value.trim()
  }

  /** Keys that were pressed before there was a box, kept by the document (ui/base_address.py). */
  catchUp() {
    const keys = missed().splice(0)
    const recent = keys.slice(keys.findLastIndex(({ event }) => event.key === "Escape") + 1)
    const place = recent.findIndex(opens)
    if (place < 0) return
    const typed = recent.slice(place + 1).map(({ event }) => event.key)
    this.input.value = typed.filter((key) => key.length === 1).join("")
    this.open()
    const end = this.input.value.length
    this.input.setSelectionRange(end, end) // further keys go on with it
  }

  key(event) {
    missed().length = 0
    if (!opens({ event, within: event.composedPath()[0] })) return
    event.preventDefault()
    event.stopPropagation()
    this.open()
  }

  open() {
    this.before = document.activeElement
    this.veil.hidden = false
    this.input.focus()
    this.input.select()
    if (this.words() && !this.list.children.length) this.ask()
  }

  hide() {
    if (this.veil.hidden) return
    this.veil.hidden = true
    this.entered = false
    this.before?.focus?.({ preventScroll: true })
  }

  ask() {
    clearTimeout(this.waiting)
    this.entered = false
    this.note.textContent = this.words() ? "Searching …" : ""
    if (!this.words()) return this.draw([])
    this.waiting = setTimeout(() => this.trigger("words", this.words()), WAIT_MS)
  }

  draw(results) {
    this.answered = this.words()
    this.results = results
    this.note.textContent = this.words() ? this.none : ""
    this.list.replaceChildren(...results.map((result, place) => this.row(result, place)))
    this.choose(0)
  }

  row(result, place) {
    const link = document.createElement("a")
    link.href = result.href
    link.target = "_self"
    link.id = `fs-search-${place}`
    link.setAttribute("role", "option")
    if (result.item) link.dataset.item = result.item
    const title = piece("title", "")
    title.append(piece("front", result.title.slice(0, -BACK)), piece("back", result.title.slice(-BACK)))
    title.title = result.whole
    link.append(piece("kind", result.kind), title, piece("time", result.time), piece("detail", result.detail))
    link.addEventListener("pointermove", () => this.choose(place))
    return link
  }

  choose(place) {
    const rows = [...this.list.children]
    this.chosen = Math.max(0, Math.min(place, rows.length - 1))
    rows.forEach((row, number) => {
      row.classList.toggle("chosen", number === this.chosen)
      row.setAttribute("aria-selected", String(number === this.chosen))
    })
    this.input.setAttribute("aria-activedescendant", rows.length ? `fs-search-${this.chosen}` : "")
  }

  move(event) {
    if (event.key === "Escape") {
      event.preventDefault()
      event.stopPropagation()
      this.hide()
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault()
      this.choose(this.chosen + (event.key === "ArrowDown" ? 1 : -1))
      this.list.children[this.chosen]?.scrollIntoView({ block: "nearest" })
    } else if (event.key === "Enter") {
      event.preventDefault()
      this.follow()
    }
  }

  // Opens the chosen result; while words are typed faster than answered, the first of their answer.
  follow() {
    this.entered = this.answered !== this.words()
    if (!this.entered) this.list.children[this.chosen]?.click()
  }

  close() {
    clearTimeout(this.waiting)
    // It goes while another page is drawn, whose box goes on with what is being typed.
    if (!this.veil.hidden) missed().push(...["/", ...this.input.value].map((key) => ({ event: { key } })))
    this.listening.abort()
  }
}

function missed() {
  return (window.fusionscopeKeys ??= [])
}

/** Does the key open the box: "/" outside of what is written in, or Ctrl-K anywhere? */
function opens({ event, within }) {
  const writes = within?.closest?.("input, textarea, select, [contenteditable=true]")
  const letter = event.key === "/" && !writes && !event.ctrlKey && !event.metaKey && !event.altKey
  const control = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.shiftKey
  return letter || control
}

function piece(name, text) {
  const element = document.createElement("span")
  element.className = name
  element.textContent = text
  return element
}
