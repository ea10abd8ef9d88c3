/** How the launchers of several nodes find each other. */
export interface RendezvousOptions {
  /** --rdzv-backend: `static` (fixed nodes and ranks) or `c10d` (nodes join and leave). Default: `static`. */
  backend: 'static' | 'c10d';
  /**
   * --rdzv-endpoint, or else --master-addr and --master-port: the address of the job's store. Undefined if none is set.
   * Default of `port`: 29500 for static, 29400 for c10d (as torch).
   */
  endpoint: { readonly host: string; readonly port: number | undefined } | undefined;
  /** --rdzv-conf. */
  config: RendezvousConfig;
}

/** --rdzv-conf, with torch's keys (in seconds there) and defaults. */
export interface RendezvousConfig {
  /** join_timeout (static: also `timeout`): how long a node waits for the minimum of nodes. Default: 600,000. */
  joinTimeoutMs: number;
  /** last_call_timeout: how long to wait for more nodes than the minimum. Default: 30,000. */
  lastCallMs: number;
  /** close_timeout: how long closing the rendezvous may take. Default: 30,000. */
  closeTimeoutMs: number;
  /** keep_alive_interval: time between two heartbeats. Default: 5,000. */
  keepAliveIntervalMs: number;
  /** keep_alive_max_attempt: heartbeats that a node may miss. Default: 3. */
  keepAliveMaxAttempts: number;
  /** read_timeout: timeout of one call to the store. Default: 60,000. */
  readTimeoutMs: number;
  /**
   * is_host: whether this node runs the store server. Default: true if the endpoint is a name or address of this host.
   */
  isHost: boolean | undefined;
}
