import { isIPv6 } from 'node:net';

/** Labels of letters, digits, hyphens and underscores (Docker Compose names hosts so), none of which begins with a hyphen; 253 characters at most. */
const name = /^(?=.{1,253}$)[\p{L}\p{N}_][\p{L}\p{N}_-]*(?:\.[\p{L}\p{N}_][\p{L}\p{N}_-]*)*\.?$/u;

/** Whether `text` has the form of a host's name or address, so that it is worth while to look it up. */
export function isHost(text: string): boolean {
  return isIPv6(text) || name.test(text);
}
