import { StorageError } from './storage-error.ts';
import type { StorageProblem } from './storage-error.ts';

const credentialsCure =
  'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, with AWS_SESSION_TOKEN where they are temporary, to ones that this endpoint knows';
const endpointCure =
  'Set AWS_ENDPOINT_URL_S3 (or AWS_ENDPOINT_URL) to the address of the S3-compatible service, such as http://minio:9000; unset, it is Amazon';
const regionCure = "Set AWS_REGION to the bucket's region";

type Meaning = [problem: StorageProblem, cure: string];

const notAllowed: Meaning = [
  'no permission',
  'Allow these credentials s3:ListBucket on the bucket, and s3:GetObject, s3:PutObject and s3:DeleteObject on its objects',
];
const noRoom: Meaning = ['full', 'Make room in the bucket, or raise its quota'];

/** What the names that S3, its client and the system give to failures mean, and what to do about each. */
const meanings: Readonly<Partial<Record<string, Meaning>>> = {
  NoSuchKey: ['not found', 'Check the prefix and the name'],
  NoSuchBucket: ['no such bucket', 'Create it, or correct the name behind s3://, or the endpoint'],
  InvalidBucketName: ['no such bucket', 'Correct the name behind s3://'],
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
  TimeoutError: ['interrupted', 'Look at the service and the network, and run again'],
  ECONNRESET: ['interrupted', 'Look at the service and the network, and run again'],
  EPIPE: ['interrupted', 'Look at the service and the network, and run again'],
  QuotaExceeded: noRoom,
  XMinioStorageFull: ['full', "Make room on the service's disks"],
};

interface Failure {
  name?: string;
  message?: string;
  code?: string;
  $metadata?: { httpStatusCode?: number };
  $response?: { statusCode?: number };
}

/** What a failed request becomes; `attempt` says what was tried, such as `reading s3://bucket/a at http://host:9000`. */
export function s3Error(attempt: string, cause: unknown): StorageError {
  const failure = cause as Failure;
  const { name = '', message = String(cause), code = '' } = failure;
  const status = failure.$metadata?.httpStatusCode ?? failure.$response?.statusCode;
  const [problem, cure] = meanings[name] ?? meanings[code] ?? meanings[message] ?? meaningOfStatus(status);
  const answer =
    status === undefined ? (code && !message.includes(code) ? ` (${code})` : '') : ` (HTTP ${status})`;
  return new StorageError(problem, attempt, `${name}: ${message}${answer}`, cure, { cause });
}

/** For answers that are not S3's. */
function meaningOfStatus(status: number | undefined): Meaning {
  if (status === 401 || status === 403) return notAllowed;
  if (status === 507) return noRoom;
  if (status !== undefined && status < 500)
    return ['wrong endpoint', `What answers does not speak S3. ${endpointCure}`];
  return ['failed', 'Look at the service, and run again'];
}
