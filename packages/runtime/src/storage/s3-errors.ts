import { StorageError } from './storage-error.ts';
import type { StorageProblem } from './storage-error.ts';

const credentialsCure =
  'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN for temporary credentials) to valid credentials of this endpoint';
const endpointCure =
  'Set AWS_ENDPOINT_URL_S3 (or AWS_ENDPOINT_URL) to the address of the S3-compatible service, such as http://minio:9000 (default: Amazon S3)';
const regionCure = "Set AWS_REGION to the bucket's region";

type Meaning = [problem: StorageProblem, cure: string];

const notAllowed: Meaning = [
  'no permission',
  'Grant s3:ListBucket on the bucket, and s3:GetObject, s3:PutObject and s3:DeleteObject on its objects',
];
const noRoom: Meaning = ['full', 'Free space in the bucket, or raise its quota'];

/** Problem and fix by error name or code of S3, its client and the system. */
const meanings: Readonly<Partial<Record<string, Meaning>>> = {
  NoSuchKey: ['not found', 'Check the prefix and the name'],
  NoSuchBucket: ['no such bucket', 'Create it, or correct the name after s3:// or the endpoint'],
  InvalidBucketName: ['no such bucket', 'Correct the name after s3://'],
  AccessDenied: notAllowed,
  InvalidAccessKeyId: ['no valid credentials', credentialsCure],
  SignatureDoesNotMatch: ['no valid credentials', credentialsCure],
  ExpiredToken: ['no valid credentials', credentialsCure],
  InvalidToken: ['no valid credentials', credentialsCure],
  CredentialsProviderError: ['no valid credentials', credentialsCure],
  RequestTimeTooSkewed: ['no valid credentials', "Set this host's clock"],
  AuthorizationHeaderMalformed: ['wrong endpoint', regionCure],
  PermanentRedirect: ['wrong endpoint', regionCure],
  'Region is missing': ['wrong endpoint', regionCure],
  EndpointError: ['wrong endpoint', endpointCure],
  ECONNREFUSED: ['wrong endpoint', endpointCure],
  ENOTFOUND: ['wrong endpoint', endpointCure],
  EAI_AGAIN: ['wrong endpoint', endpointCure],
  EHOSTUNREACH: ['wrong endpoint', endpointCure],
  ENETUNREACH: ['wrong endpoint', endpointCure],
  ETIMEDOUT: ['wrong endpoint', endpointCure],
  EPROTO: ['wrong endpoint', endpointCure],
  ERR_INVALID_URL: ['wrong endpoint', endpointCure],
  TimeoutError: ['interrupted', 'Check the service and the network, and run again'],
  ECONNRESET: ['interrupted', 'Check the service and the network, and run again'],
  EPIPE: ['interrupted', 'Check the service and the network, and run again'],
  QuotaExceeded: noRoom,
  XMinioStorageFull: ['full', "Free space on the service's disks"],
};

interface Failure {
  name?: string;
  message?: string;
  code?: string;
  $metadata?: { httpStatusCode?: number };
  $response?: { statusCode?: number };
}

/**
 * Converts the error of a request. `attempt` is the failed action, such as `reading s3://bucket/a at http://host:9000`.
 */
export function s3Error(attempt: string, cause: unknown): StorageError {
  const failure = cause as Failure;
  const { name = '', message = String(cause), code = '' } = failure;
  const status = failure.$metadata?.httpStatusCode ?? failure.$response?.statusCode;
  const [problem, cure] = meanings[name] ?? meanings[code] ?? meanings[message] ?? meaningOfStatus(status);
  const answer =
    status === undefined ? (code && !message.includes(code) ? ` (${code})` : '') : ` (HTTP ${status})`;
  return new StorageError(problem, attempt, `${name}: ${message}${answer}`, cure, { cause });
}

/** For errors without an S3 error name. */
function meaningOfStatus(status: number | undefined): Meaning {
  if (status === 401 || status === 403) return notAllowed;
  if (status === 507) return noRoom;
  if (status !== undefined && status < 500)
    return ['wrong endpoint', `The server is not an S3-compatible service. ${endpointCure}`];
  return ['failed', 'Check the service, and run again'];
}
