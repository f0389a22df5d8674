// Opens ui.perfetto.dev in a tab and posts the trace to it, from this browser and not from the
// server: perfetto.dev/docs/visualization/deep-linking-to-perfetto-ui. The tab is opened by the
// click itself (later, a browser would take it for a pop-up); messages to a page that does not
// listen yet are lost, so PING is said until PONG comes.

const KNOCK_MS = 100
const PATIENCE_MS = 60000
const panels = new WeakMap()

export default function (component) {
  const { parentElement, data } = component
  let panel = panels.get(parentElement)
  if (!panel) panels.set(parentElement, (panel = new Panel(parentElement)))
  panel.data = data
  return () => {
    panel.close()
    panels.delete(parentElement)
  }
}

class Panel {
  constructor(root) {
    this.button = root.querySelector("button")
    this.said = root.querySelector(".said")
    this.button.onclick = () => this.go()
  }

  async go() {
    const { address, origin, token, url, title, file } = this.data
    const tab = window.open(address)
    if (!tab) {
      this.say("The browser did not let this page open a tab. Allow it, or download the trace.")
      return
    }
    this.button.disabled = true
    try {
      this.say("Making the trace …")
      // Both at once: the tab loads while the trace is made.
      const [buffer] = await Promise.all([fetched(url, token), this.listening(tab, origin)])
      tab.postMessage({ perfetto: { buffer, title, fileName: file } }, origin, [buffer])
      this.say("Handed over: see the other tab.")
    } catch (error) {
      this.say(error.message)
    } finally {
      this.button.disabled = false
      this.close()
    }
  }

  /** Resolves when the tab answers. */
  listening(tab, origin) {
    return new Promise((resolve, reject) => {
      const until = Date.now() + PATIENCE_MS
      this.heard = (event) => {
        if (event.source === tab && event.origin === origin && event.data === "PONG") resolve()
      }
      window.addEventListener("message", this.heard)
      this.knocking = setInterval(() => {
        if (tab.closed) reject(new Error("The tab was closed before the trace was there."))
        else if (Date.now() > until) reject(new Error(`${origin} does not answer. Download the trace, and drop it there.`))
        else tab.postMessage("PING", origin)
      }, KNOCK_MS)
    })
  }

  close() {
    clearInterval(this.knocking)
    window.removeEventListener("message", this.heard)
  }

  say(text) {
    this.said.textContent = text
  }
}

async function fetched(url, token) {
  let answer
  try {
    answer = await fetch(new URL(url, document.baseURI), { headers: { "X-Fusionscope-Token": token } })
  } catch {
    throw new Error("The server does not answer. Reload the page.")
  }
  if (answer.ok) return answer.arrayBuffer()
  const { problem, remedy } = await answer.json().catch(() => ({ problem: `Status ${answer.status}.`, remedy: "" }))
  throw new Error(`${problem} ${remedy}`)
}
