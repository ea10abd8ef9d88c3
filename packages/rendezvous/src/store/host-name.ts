import { isIPv6 } from 'node:net';

/**
 * Labels of letters, digits, hyphens and underscores (used by Docker Compose), without a leading hyphen. At most 253
 * characters.
 */
const name = /^(?=.{1,253}$)[\p{L}\p{N}_][\p{L}\p{N}_-]*(?:\.[\p{L}\p{N}_][\p{L}\p{N}_-]*)*\.?$/u;

/** True if `text` has the form of a host name or address. */
export function isHostName(text: string): boolean {
  return isIPv6(text) || name.test(text);
}
