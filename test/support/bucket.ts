import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { credentials } from '../../packages/runtime/test/support/s3.ts';

export type Environment = Record<string, string | number>;

export function bucketAt(
  port: number,
  environment: Readonly<Environment> = {},
): Environment & { DIR: string } {
  const endpoint = { AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${port}`, AWS_EC2_METADATA_DISABLED: 'true' };
  return { DIR: 's3://checkpoints/job', ...endpoint, ...credentials, ...environment };
}

/** Starts an HTTP server in this process and returns its port. */
export async function serve(answer: RequestListener): Promise<number> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** The answer of a bucket without objects. */
export const emptyList = '<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>';
