import { printable } from '@ringrun/core';
import { AnswerError, endpointCure, incomplete, notAllowed, tooManyRequests } from './s3-answers.ts';
import type { Meaning } from './s3-answers.ts';
import { StorageError } from './storage-error.ts';

const credentialsCure =
  'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN for temporary credentials) to valid credentials of this endpoint';
const regionCure = "Set AWS_REGION to the bucket's region";

const noRoom: Meaning = ['full', 'Free space in the bucket, or raise its quota'];

const authority: Meaning = [
  'wrong endpoint',
  "Set NODE_EXTRA_CA_CERTS to a PEM file with the certificate of the service's authority, and check that no proxy answers in its place",
];
const validity: Meaning = ['wrong endpoint', "Renew the service's certificate, or set this host's clock"];

/** Problem and fix by error name or code of S3, its client and the system. */
const meanings: Readonly<Partial<Record<string, Meaning>>> = {
  NoSuchKey: ['not found', 'Check the prefix and the name'],
  NoSuchBucket: ['no such bucket', 'Create it, or correct the name after s3:// or the endpoint'],
  NoSuchUpload: [
    'interrupted',
    'The upload was aborted or is complete; check lifecycle rules, and run again',
  ],
  PreconditionFailed: ['interrupted', 'Read it again, and do not replace objects while they are read'],
  SlowDown: tooManyRequests,
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
  DEPTH_ZERO_SELF_SIGNED_CERT: authority,
  SELF_SIGNED_CERT_IN_CHAIN: authority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: authority,
  UNABLE_TO_GET_ISSUER_CERT: authority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: authority,
  CERT_HAS_EXPIRED: validity,
  CERT_NOT_YET_VALID: validity,
  ERR_TLS_CERT_ALTNAME_INVALID: [
    'wrong endpoint',
    "Use a host name of the service's certificate in AWS_ENDPOINT_URL_S3, and check that no proxy answers in its place",
  ],
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
  $metadata?: { httpStatusCode?: number; requestId?: string };
}

/** Characters of another program's text that an error shows. */
const maxText = 600;

/**
 * Converts the error of a request. `attempt` is the failed action, such as `reading s3://bucket/a at http://host:9000`.
 */
export function s3Error(attempt: string, cause: unknown): StorageError {
  const failure = cause as Failure;
  const { name = '', message = String(cause), code = '' } = failure;
  const { httpStatusCode: status, requestId } = failure.$metadata ?? {};
  const isAnswer = cause instanceof AnswerError;
  const own = isAnswer ? cause.meaning : undefined;
  const [problem, cure] =
    own ?? meanings[name] ?? meanings[code] ?? meanings[message] ?? meaningOf(code, status, isAnswer);
  const reason =
    own !== undefined || name === 'Error' || code !== '' ? plain(message) : `${name}: ${plain(message)}`;
  const details = [
    status === undefined || reason.includes(`HTTP ${status}`) ? '' : `HTTP ${status}`,
    requestId ? `request ${requestId}` : '',
    status === undefined && !message.includes(code) ? code : '',
  ].filter((detail) => detail !== '');
  const text = `${printable(reason, maxText)}${details.length === 0 ? '' : ` (${details.join(', ')})`}`;
  return new StorageError(problem, attempt, text, cure, { cause: printableCause(cause) });
}

/** Without the names of the client's package and of its option. */
function plain(message: string): string {
  return message.replaceAll(
    /@smithy\/[\w-]+ - (\[ERROR\] )?| \(configured by client \w+\)\.?|\.?\s*Deserialization error: .*$/gs,
    '',
  );
}

/** Node prints the causes of an uncaught error. The text of one may be another program's, such as a certificate's. */
function printableCause(cause: unknown): unknown {
  if (!(cause instanceof Error)) return cause;
  const { message, code } = cause as NodeJS.ErrnoException;
  const shown = printable(plain(message), maxText);
  return shown === message ? cause : Object.assign(new Error(shown), { name: cause.name, code });
}

/** For other errors. */
function meaningOf(code: string, status: number | undefined, isAnswer: boolean): Meaning {
  if (code.startsWith('HPE_'))
    return ['wrong endpoint', `The server does not answer in HTTP. ${endpointCure}`];
  if (/^ERR_SSL_/.test(code)) return ['wrong endpoint', endpointCure];
  if (status === 401 || status === 403) return notAllowed;
  // The client could not read the answer.
  if (!isAnswer && status !== undefined && status < 300) return incomplete;
  return ['failed', 'Check the service, and run again'];
}
