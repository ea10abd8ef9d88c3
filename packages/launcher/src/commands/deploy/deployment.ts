import type { NodeRange, ProcessesPerNode } from '../../options/launch-options.ts';
import type { AccessMode, Toleration } from './values.ts';

/** A training job on Kubernetes, from the command line of `ringrun deploy`. */
export interface Deployment {
  kind: 'PyTorchJob' | 'TrainJob';
  /** Name of the job, and the beginning of the names of its pods. */
  name: string;
  namespace: string | undefined;
  image: string;
  /** FROM of the Dockerfile. Undefined: chosen from the folder's contents. */
  baseImage: string | undefined;
  /** Nodes may join and leave if the numbers differ. */
  nodes: NodeRange;
  /** `auto`: one per GPU, or per CPU of the limit. */
  processesPerNode: ProcessesPerNode;
  cpu: string;
  memory: string;
  /** Per node. */
  gpus: number;
  tolerations: readonly Toleration[];
  nodeSelector: Readonly<Record<string, string>>;
  serviceAccount: string | undefined;
  imagePullSecrets: readonly string[];
  /** Role of AWS that the service account gets. Undefined: the service account exists. */
  roleArn: string | undefined;
  /** OpenID Connect issuer of the cluster, which the role trusts. */
  oidcProvider: string | undefined;
  /** Bucket of S3 that the role may read and write. */
  s3Bucket: string | undefined;
  /** PersistentVolumeClaim, mounted at /volume. */
  volume: string | undefined;
  /** Size of the claim. Undefined: the claim exists. */
  volumeSize: string | undefined;
  /** With ReadWriteOnce, only the master has the volume. */
  volumeAccess: AccessMode;
  storageClass: string | undefined;
  /** The Kubernetes Secret that has the job's secret under the key `secret`. */
  secret: string;
  env: Readonly<Record<string, string>>;
  /** The script's path, relative to the folder. */
  script: string;
  arguments: readonly string[];
  /** Patterns of files that go into the image, besides code and settings. */
  include: readonly string[];
  /** Folder of the manifests. */
  output: string;
  /** Replace manifests that exist. */
  force: boolean;
}
