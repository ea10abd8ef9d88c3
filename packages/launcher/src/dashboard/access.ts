import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** The answer to a request. */
export type Access =
  | { readonly kind: 'granted'; readonly path: string }
  /** The browser receives a cookie and is redirected to the page, which removes the token from the address bar. */
  | { readonly kind: 'signed in'; readonly cookie: string }
  | { readonly kind: 'denied' };

/**
 * Pure: accepts the token as `?token=`, as `Authorization: Bearer`, or in the cookie that the page sets.
 *
 * @param url Path and query of the request.
 */
export function accessOf(url: string, headers: IncomingHttpHeaders, token: string): Access {
  const [path, query = ''] = url.split('?', 2);
  const given = new URLSearchParams(query).get('token');
  if (given !== null) {
    if (!isToken(given, token)) return { kind: 'denied' };
    return path === '/' ? { kind: 'signed in', cookie: cookieOf(token) } : { kind: 'granted', path };
  }
  const bearer = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
  const cookies = (headers.cookie ?? '').split(';').map((one) => one.trim());
  const name = `${cookieName(token)}=`;
  const ofCookie = cookies.find((one) => one.startsWith(name))?.slice(name.length);
  return isToken(bearer, token) || isToken(ofCookie, token) ? { kind: 'granted', path } : { kind: 'denied' };
}

/** Browsers send a cookie to all ports of a host, so each job has its own cookie name. */
function cookieName(token: string): string {
  return `ringrun-${digest(token).toString('hex').slice(0, 8)}`;
}

function cookieOf(token: string): string {
  return `${cookieName(token)}=${token}; HttpOnly; SameSite=Lax`;
}

/** Compares in constant time: digests have the same length for texts of any length. */
function isToken(given: string | undefined, token: string): boolean {
  return given !== undefined && timingSafeEqual(digest(given), digest(token));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
