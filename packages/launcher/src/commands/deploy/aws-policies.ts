import type { Deployment } from './deployment.ts';

/** The policies of an AWS role for a job, as JSON files for `aws iam`: the text of each file by its name. */
export function awsPoliciesOf(deployment: Deployment): Record<string, string> {
  const { s3Bucket, oidcProvider, roleArn } = deployment;
  return {
    ...(s3Bucket !== undefined && { 's3-policy.json': json(bucketPolicy(s3Bucket)) }),
    ...(oidcProvider !== undefined &&
      roleArn !== undefined && { 'trust-policy.json': json(trustPolicy(deployment, oidcProvider, roleArn)) }),
  };
}

/** What checkpoints, data sets and logs in a bucket need. Multipart uploads that fail are aborted. */
function bucketPolicy(bucket: string): object {
  const arn = `arn:aws:s3:::${bucket}`;
  return policyOf(
    { Action: ['s3:ListBucket'], Resource: arn },
    {
      Action: ['s3:GetObject', 's3:PutObject', 's3:DeleteObject', 's3:AbortMultipartUpload'],
      Resource: `${arn}/*`,
    },
  );
}

/** Only pods of the service account in its namespace may assume the role (IAM roles for service accounts). */
function trustPolicy({ namespace, serviceAccount }: Deployment, provider: string, roleArn: string): object {
  const [, partition, , , account] = roleArn.split(':');
  return policyOf({
    Action: 'sts:AssumeRoleWithWebIdentity',
    Principal: { Federated: `arn:${partition}:iam::${account}:oidc-provider/${provider}` },
    Condition: {
      StringEquals: {
        [`${provider}:aud`]: 'sts.amazonaws.com',
        [`${provider}:sub`]: `system:serviceaccount:${namespace ?? 'default'}:${serviceAccount}`,
      },
    },
  });
}

function policyOf(...statements: readonly object[]): object {
  return { Version: '2012-10-17', Statement: statements.map((one) => ({ Effect: 'Allow', ...one })) };
}

function json(value: object): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
