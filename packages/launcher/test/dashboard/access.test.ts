import { expect, test } from 'vitest';
import { accessOf } from '../../src/dashboard/access.ts';
import { refusalOf } from '../../src/options/dashboard-place.ts';
import { RateLimit } from '../../src/dashboard/rate-limit.ts';
import { dashboardToken } from '../../../rendezvous/src/secret/keys.ts';
import { parsed } from '../options/parsed.ts';

const token = 'a-token-of-the-job';
const granted = { kind: 'granted', path: '/metrics' };
const denied = { kind: 'denied' };

test('the token is accepted in the URL, as a bearer and in the cookie of the page', () => {
  expect(accessOf(`/metrics?token=${token}`, {}, token)).toEqual(granted);
  expect(accessOf('/metrics', { authorization: `Bearer ${token}` }, token)).toEqual(granted);
  const page = accessOf(`/?token=${token}`, {}, token);
  if (page.kind !== 'signed in') throw new Error(`expected a cookie, got ${page.kind}`);
  expect(page.cookie).toMatch(/; HttpOnly; SameSite=Lax$/);
  const cookie = `other=1; ${page.cookie.split(';')[0]}`;
  expect(accessOf('/metrics', { cookie }, token)).toEqual(granted);
});

test.each([
  ['nothing', '/', {}],
  ['another token', '/?token=another', {}],
  ['a part of the token', `/metrics?token=${token.slice(0, -1)}`, {}],
  ['an empty token', '/metrics?token=', {}],
  ['another bearer', '/metrics', { authorization: 'Bearer x' }],
  ['basic authorization', '/metrics', { authorization: `Basic ${token}` }],
  ['the cookie of another job', '/metrics', { cookie: `ringrun-00000000=${token}` }],
])('%s is denied', (_, url, headers) => {
  expect(accessOf(url, headers, token)).toEqual(denied);
});

test('the token follows from the secret of the job, and is none without one', () => {
  const secret = '0123456789abcdef';
  const ofSecret = dashboardToken({ RINGRUN_SECRET: secret });
  expect(ofSecret).toMatch(/^[\w-]{32}$/);
  expect(dashboardToken({ RINGRUN_SECRET: secret })).toBe(ofSecret);
  expect(dashboardToken({ RINGRUN_SECRET: `${secret}!` })).not.toBe(ofSecret);
  expect(dashboardToken({})).toBeUndefined();
});

test('without a secret only loopback is served', () => {
  expect(refusalOf({ host: '127.0.0.1', port: 29600 }, false)).toBeUndefined();
  expect(refusalOf({ host: '0.0.0.0', port: 29600 }, true)).toBeUndefined();
  expect(refusalOf({ host: '0.0.0.0', port: 29600 }, false)).toMatch(
    /^--dashboard: expected a loopback address.*got 0\.0\.0\.0:29600\. .*openssl rand/,
  );
});

test('--dashboard does not take the script as its place', () => {
  const { options } = parsed('--dashboard train.ts --dashboard=x');
  expect(options.program).toMatchObject({ name: 'train.ts', arguments: ['--dashboard=x', 'train.js'] });
  expect(options.dashboard).toEqual({ host: '127.0.0.1', port: 29600, isChosen: false });
});

test.each([
  ['0.0.0.0:6006', { host: '0.0.0.0', port: 6006, isChosen: true }],
  ['[::1]:6006', { host: '::1', port: 6006, isChosen: true }],
  ['localhost', { host: 'localhost', port: 29600, isChosen: false }],
  ['0', undefined],
])('--dashboard=%s', (text, place) => {
  expect(parsed(`--dashboard=${text}`).options.dashboard).toEqual(place);
  expect(parsed('', { RINGRUN_DASHBOARD: text }).options.dashboard).toEqual(place);
});

test('a limit lets a burst through, and then its rate', () => {
  const limit = new RateLimit(10, 5, 0);
  const passed = (times: number, now: number) =>
    Array.from({ length: times }, () => limit.pass(now)).filter(Boolean).length;
  expect(passed(20, 0)).toBe(5);
  expect(passed(20, 300)).toBe(3);
  expect(passed(20, 60_000)).toBe(5);
});
