// What Streamlit starts. The modules lie in static/timeline and are fetched from this server;
// relative to document.baseURI, so that a base path or a proxy's prefix is kept.
const modules = import(new URL("app/static/timeline/main.js", document.baseURI).href)
const unmounted = new WeakSet()

export default function (component) {
  const root = component.parentElement
  unmounted.delete(root)
  modules.then(
    ({ show }) => { if (!unmounted.has(root)) show(component) },
    () => { root.querySelector(".waiting").textContent = "The server does not answer. Reload the page." },
  )
  return () => {
    unmounted.add(root)
    modules.then(({ remove }) => remove(root), () => {})
  }
}
