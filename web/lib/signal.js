// State: a value, what is computed from values, and what happens when they change.

/** @typedef {{ run: () => void, sources: Set<Set<Listener>> }} Listener */
/** @template T @typedef {{ value: T, peek: () => T }} Signal */

/** @type {Listener | null} */
let running = null;

/**
 * @template T
 * @param {T} value
 * @returns {Signal<T>}
 */
export function signal(value) {
  /** @type {Set<Listener>} */
  const listeners = new Set();
  return {
    get value() {
      if (running) {
        listeners.add(running);
        running.sources.add(listeners);
      }
      return value;
    },
    set value(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const listener of [...listeners]) if (listeners.has(listener)) listener.run();
    },
    peek: () => value,
  };
}

/**
 * Runs now and whenever a value that it read changes, until `until` says stop.
 * @param {() => void} action
 * @param {AbortSignal} [until]
 */
export function effect(action, until) {
  let ended = false;
  /** @type {Listener} */
  const listener = {
    sources: new Set(),
    run() {
      forget();
      if (ended) return;
      const outer = running;
      running = listener;
      try {
        action();
      } finally {
        running = outer;
      }
    },
  };
  const forget = () => {
    for (const source of listener.sources) source.delete(listener);
    listener.sources.clear();
  };
  const stop = () => {
    ended = true;
    forget();
  };
  if (until?.aborted) return stop;
  until?.addEventListener("abort", stop, { once: true });
  listener.run();
  return stop;
}

/**
 * @template T
 * @param {() => T} compute
 * @param {AbortSignal} [until]
 * @returns {Signal<T>}
 */
export function derived(compute, until) {
  const result = signal(/** @type {T} */ (/** @type {unknown} */ (undefined)));
  effect(() => {
    result.value = compute();
  }, until);
  return result;
}
