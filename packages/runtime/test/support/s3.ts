import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished, vi } from 'vitest';
import { builtFile } from '../../../../test/support/built-script.ts';
import { temporaryFolder } from './temporary-folder.ts';

const script = fileURLToPath(builtFile(new URL('../fixtures/s3-server.ts', import.meta.url)));

/** The server's credentials. */
export const credentials = { AWS_ACCESS_KEY_ID: 'S3RVER', AWS_SECRET_ACCESS_KEY: 'S3RVER' };

export interface S3Server {
  port: number;
  /** Ends the server with SIGKILL, and resolves when it has exited. */
  kill(): Promise<void>;
}

/** Starts an S3-compatible server with empty buckets, which ends with the test. */
export function startS3(...buckets: string[]): Promise<S3Server> {
  return startS3In(temporaryFolder(), ...buckets);
}

/** Starts a server whose objects are in `folder`, including those of an earlier server. */
export async function startS3In(folder: string, ...buckets: string[]): Promise<S3Server> {
  const child = spawn(process.execPath, [script, folder, ...buckets], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const kill = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  onTestFinished(kill);
  const [printed] = (await once(child.stdout, 'data')) as [Buffer];
  return { port: Number(String(printed)), kill };
}

/** Sets the S3 variables of the environment until the test is over. Default: the server's credentials. */
export function useS3(port: number, environment: Readonly<Record<string, string | undefined>> = {}): void {
  const cleared = Object.keys(process.env).filter((name) => name.startsWith('AWS_'));
  for (const name of cleared) vi.stubEnv(name, undefined);
  const address = { AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${port}`, AWS_EC2_METADATA_DISABLED: 'true' };
  for (const [name, value] of Object.entries({ ...address, ...credentials, ...environment }))
    vi.stubEnv(name, value);
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
}

/** As `useS3`, for tests that run at the same time. Returns what restores the former variables. */
export function s3Environment(port: number): () => void {
  // The object itself: a copy would not be the environment that native code reads.
  const former = process.env;
  const address = { AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${port}`, AWS_EC2_METADATA_DISABLED: 'true' };
  const others = Object.entries(former).filter(([name]) => !name.startsWith('AWS_'));
  process.env = { ...Object.fromEntries(others), ...address, ...credentials };
  return () => {
    process.env = former;
  };
}
