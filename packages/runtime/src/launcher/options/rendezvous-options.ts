/** Where and how the agents of several nodes meet. */
export interface RendezvousOptions {
  /** --rdzv-backend: `static`, in which each node has its rank from the start (torch's default), or `c10d`, in which nodes come and go. */
  backend: 'static' | 'c10d';
  /**
   * --rdzv-endpoint, or else --master-addr and --master-port: where the job's store is. Undefined: nothing named it.
   * `port` is undefined where nothing names it: 29500 for static, 29400 for c10d (torch's defaults).
   */
  endpoint: { readonly host: string; readonly port: number | undefined } | undefined;
  /** --rdzv-conf. */
  config: RendezvousConfig;
}

/** --rdzv-conf, with torch's keys (there in seconds) and defaults. */
export interface RendezvousConfig {
  /** join_timeout: for enough nodes to come; 600,000. `timeout` is the static rendezvous' name for it. */
  joinTimeoutMs: number;
  /** last_call_timeout: for more nodes, once there are enough; 30,000. */
  lastCallMs: number;
  /** close_timeout: for closing the rendezvous; 30,000. */
  closeTimeoutMs: number;
  /** keep_alive_interval: between two signs of life; 5,000. */
  keepAliveIntervalMs: number;
  /** keep_alive_max_attempt: signs of life that may be missed; 3. */
  keepAliveMaxAttempts: number;
  /** read_timeout: for one answer of the store; 60,000. */
  readTimeoutMs: number;
  /** is_host: whether this node hosts the store; undefined: it does where the endpoint is one of its own names or addresses. */
  isHost: boolean | undefined;
}
