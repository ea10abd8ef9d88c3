/**
 * The links between the hosts of a group, in the order of the group's hosts (that of their first ranks). What is
 * measured at the start of a group, read from a file, or assumed by `ringrun plan`, and the input of every decision that
 * depends on links. The same on all ranks.
 */
export interface Links {
  /** Names of the hosts, for messages. */
  readonly hosts: readonly string[];
  /** `delay[a][b]`: seconds from the sending of a small message by host a to its arrival at host b. 0 if a is b. */
  readonly delay: readonly (readonly number[])[];
  /** `bandwidth[a][b]`: bytes per second from host a to host b while all other links are idle. 0 if a is b. */
  readonly bandwidth: readonly (readonly number[])[];
  /** `capacity[a]`: bytes per second that host a sends to all others together. */
  readonly capacity: readonly number[];
}
