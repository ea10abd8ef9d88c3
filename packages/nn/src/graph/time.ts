let now = 0;

/** Counts the changes of parameters and buffers that were called for; orders them with the nodes of graphs. */
export function time(): number {
  return now;
}

/** Begins a new time: nodes from before are older than what happens at it. */
export function tick(): number {
  now += 1;
  return now;
}
