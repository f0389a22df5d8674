// Times and names as text; the same words as profiler_core/units.py.

/** 5220000 -> "5.22 ms". */
export function duration(ns) {
  const size = Math.abs(ns)
  const sign = ns < 0 ? "−" : ""
  for (const [factor, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]]) {
    if (size >= factor) return `${sign}${threeDigits(size / factor)} ${unit}`
  }
  return `${sign}${size.toFixed(0)} ns`
}

function threeDigits(value) {
  return value < 9.995 ? value.toFixed(2) : value < 99.95 ? value.toFixed(1) : value.toFixed(0)
}

/** 12408 -> "12 408", with a thin space. */
export function count(n) {
  return Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, "\u202f")
}

/** A moment, exact enough to tell neighbouring pixels apart when `stepNs` lies between ticks;
in the unit of `scaleNs`. */
export function moment(ns, stepNs, scaleNs = stepNs) {
  if (ns === 0) return "0"
  const [factor, unit] = scaleNs >= 1e9 ? [1e9, "s"] : scaleNs >= 1e6 ? [1e6, "ms"] : scaleNs >= 1e3 ? [1e3, "µs"] : [1, "ns"]
  const digits = Math.max(0, Math.ceil(-Math.log10(stepNs / factor) - 1e-9))
  const text = (Math.abs(ns) / factor).toFixed(digits)
  const [whole, fraction] = text.split(".")
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, "\u202f")
  return `${ns < 0 ? "−" : ""}${grouped}${fraction ? `.${fraction}` : ""} ${unit}`
}

const shortNames = new Map()

/** A kernel's name without what all kernels share: return type, namespaces, template arguments. */
export function shortName(name) {
  let short = shortNames.get(name)
  if (short === undefined) {
    short = name.replace(/^(void |at::native::|\(anonymous namespace\)::|at::cuda::|cutlass::|cub::)+/, "")
    if (!short.startsWith("##") && !short.includes(": ")) short = short.replace(/[<(].*$/s, "") || name
    shortNames.set(name, short)
  }
  return short
}
