// The drop zone: files or whole folders, streamed to our route two at a time, each with its bar.
// Python gets one trigger, "done", with the places and names of the files that arrived whole.

const AT_ONCE = 2
const zones = new WeakMap()

export default function (component) {
  const { parentElement, data, setTriggerValue } = component
  let zone = zones.get(parentElement)
  if (!zone) zones.set(parentElement, (zone = new Zone(parentElement)))
  zone.update(data, setTriggerValue)
  return () => {
    zone.close()
    zones.delete(parentElement)
  }
}

class Zone {
  constructor(root) {
    this.zone = root.querySelector(".zone")
    this.list = root.querySelector("ul")
    this.foot = root.querySelector(".foot")
    this.go = root.querySelector(".go")
    this.files = []
    const input = root.querySelector("input")
    root.querySelector(".choose").onclick = () => input.click()
    input.onchange = () => {
      this.add([...input.files].map(file => ({ file, name: file.name })))
      input.value = "" // the same file may be chosen again after it failed
    }
    this.go.onclick = () => this.finish()
    this.kinds = root.querySelector(".kinds")
    // A file dropped beside the zone would replace the page with its own text.
    this.listeners = {
      dragover: event => {
        if (!hasFiles(event)) return
        event.preventDefault()
        this.zone.classList.add("over")
      },
      dragleave: event => {
        if (!event.relatedTarget) this.zone.classList.remove("over")
      },
      drop: event => {
        if (!hasFiles(event)) return
        event.preventDefault()
        this.zone.classList.remove("over")
        dropped(event.dataTransfer).then(found => this.add(found))
      },
    }
    for (const [name, listener] of Object.entries(this.listeners)) window.addEventListener(name, listener)
  }

  update(data, trigger) {
    this.trigger = trigger
    if (this.data && this.data.upload_id !== data.upload_id) this.reset()
    this.data = data
    this.kinds.textContent = data.kinds
  }

  reset() {
    for (const entry of this.files) entry.request?.abort()
    this.files = []
    this.list.replaceChildren()
    this.draw()
  }

  close() {
    for (const entry of this.files) entry.request?.abort()
    for (const [name, listener] of Object.entries(this.listeners)) window.removeEventListener(name, listener)
  }

  add(found) {
    for (const { file, name } of found) {
      const entry = { file, name, place: this.files.length, state: "waiting" }
      this.files.push(entry)
      this.row(entry)
      if (entry.place >= this.data.most_files) this.fail(entry, `More than ${this.data.most_files} files at once. Drop a .zip of them.`)
      else if (!file.size) this.fail(entry, "The file is empty.")
      else if (file.size > this.data.largest_bytes) this.fail(entry, `Larger than the ${bytes(this.data.largest_bytes)} that this server takes. Open it by its path on the server.`)
    }
    this.next()
  }

  row(entry) {
    const row = document.createElement("li")
    for (const [tag, name] of [["span", "name"], ["div", "bar"], ["span", "said"], ["button", ""]]) {
      const part = document.createElement(tag)
      part.className = name
      row.append(part)
    }
    entry.row = row
    entry.bar = row.children[1].appendChild(document.createElement("i"))
    entry.said = row.children[2]
    row.children[0].textContent = row.children[0].title = entry.name
    row.children[3].textContent = "×"
    row.children[3].type = "button"
    row.children[3].ariaLabel = `Remove ${entry.name}`
    row.children[3].onclick = () => {
      entry.state = "removed"
      entry.request?.abort()
      row.remove()
      this.next()
    }
    entry.said.textContent = `${bytes(entry.file.size)}, waiting`
    this.list.append(row)
  }

  next() {
    const sending = this.files.filter(entry => entry.state === "sending").length
    const waiting = this.files.filter(entry => entry.state === "waiting")
    for (const entry of waiting.slice(0, Math.max(0, AT_ONCE - sending))) this.send(entry)
    this.draw()
  }

  send(entry) {
    const request = new XMLHttpRequest()
    const started = performance.now()
    // Relative to the page, so that a server below a path prefix works too.
    const address = new URL(`api/upload/${entry.place}`, document.baseURI)
    address.searchParams.set("name", entry.name)
    entry.request = request
    entry.state = "sending"
    request.open("PUT", address)
    request.setRequestHeader("X-Fusionscope-Token", this.data.token)
    request.upload.onprogress = event => {
      const seconds = (performance.now() - started) / 1000
      entry.bar.style.width = `${(100 * event.loaded) / event.total}%`
      entry.said.textContent = `${bytes(event.loaded)} of ${bytes(event.total)}` + (seconds > 1 ? `, ${bytes(event.loaded / seconds)}/s` : "")
    }
    request.onload = () => {
      const answer = parsed(request.responseText)
      if (request.status === 200) {
        entry.state = "done"
        entry.bar.style.width = "100%"
        entry.said.textContent = `${bytes(answer.bytes)}, arrived`
      } else {
        this.fail(entry, answer.problem ? `${answer.problem} ${answer.remedy}` : `The server refused the file (${request.status}). Reload the page and try again.`)
      }
      this.next()
    }
    request.onerror = () => {
      this.fail(entry, "The connection broke off. Is the server still running? Remove the file and drop it again.")
      this.next()
    }
    request.send(entry.file)
  }

  fail(entry, sentence) {
    entry.state = "failed"
    entry.row.className = "failed"
    entry.said.textContent = sentence
    entry.said.title = sentence
  }

  draw() {
    const done = this.files.filter(entry => entry.state === "done")
    const busy = this.files.some(entry => entry.state === "sending" || entry.state === "waiting")
    this.foot.hidden = !done.length && !busy
    this.go.disabled = busy || !done.length
    this.go.textContent = done.length > 1 ? `Open ${done.length} files` : "Open"
    this.foot.querySelector("span").textContent = busy
      ? "Receiving …"
      : done.length === 1 ? "One file so far: drop a second trace to compare, or open this one alone." : ""
  }

  finish() {
    const done = this.files.filter(entry => entry.state === "done")
    this.go.disabled = true
    this.go.textContent = "Opening …"
    this.trigger("done", { upload_id: this.data.upload_id, places: done.map(entry => entry.place) })
  }
}

const hasFiles = event => [...(event.dataTransfer?.types ?? [])].includes("Files")

// Folders are walked, so that a whole run directory can be dropped; names keep their folders.
async function dropped(transfer) {
  const entries = [...transfer.items].map(item => item.webkitGetAsEntry?.()).filter(Boolean)
  if (!entries.length) return [...transfer.files].map(file => ({ file, name: file.name }))
  const found = []
  for (const entry of entries) await walk(entry, found)
  return found
}

async function walk(entry, found) {
  const name = entry.fullPath.replace(/^\//, "")
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject))
    if (!file.name.startsWith(".")) found.push({ file, name })
    return
  }
  const reader = entry.createReader()
  for (;;) {
    // readEntries gives at most a hundred at a time, and an empty list at the end.
    const part = await new Promise((resolve, reject) => reader.readEntries(resolve, reject))
    if (!part.length) return
    for (const child of part) await walk(child, found)
  }
}

function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return {} // a proxy's own page in place of our answer
  }
}

function bytes(n) {
  for (const [size, unit] of [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"]]) {
    if (n >= size) return `${(n / size).toFixed(n / size < 10 ? 1 : 0)} ${unit}`
  }
  return `${Math.round(n)} B`
}
