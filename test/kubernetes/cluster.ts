import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { repository } from '../support/environment.ts';
import { Namespace } from '../support/namespace.ts';
import { Output } from '../support/output.ts';
import { CertificateAuthority } from './certificates.ts';
import type { Certificate } from './certificates.ts';
import type { Image } from './kubelet/images.ts';
import type { KubeletConfig } from './kubelet/main.ts';
import { bridge, gateway } from './kubelet/network.ts';
import type { Parts, Program } from './parts.ts';

/** Port of the service `kubernetes`, whose address is the API server's because kube-proxy does not run. */
const apiPort = 443;
const kubeletPort = 10250;
const startLimitMs = 60_000;

/** Resources that each node offers to the scheduler. The pods share this machine's processors. */
const capacity = { cpu: '8', memory: '32Gi', pods: '50' };

/**
 * A control plane of Kubernetes and the kubelet of these tests, in a separate network namespace: etcd, API server,
 * controllers and scheduler are the real programs.
 */
export class Cluster {
  /** Data, logs and certificates. */
  readonly folder: string;
  /** Name of the network namespace. */
  readonly name: string;
  readonly #namespace: Namespace;
  readonly #parts: Parts;
  readonly #children: { name: string; child: ChildProcess }[] = [];

  /**
   * Starts everything and waits until it is ready.
   *
   * @throws Error with the end of a program's log if it does not start
   */
  static async start(parts: Parts, nodes: number, images: Image[]): Promise<Cluster> {
    const cluster = new Cluster(parts);
    try {
      await cluster.#start(nodes, images);
    } catch (error) {
      await cluster.stop();
      throw error;
    }
    return cluster;
  }

  private constructor(parts: Parts) {
    this.#parts = parts;
    this.name = `ringrun-k8s-${process.pid}`;
    this.folder = mkdtempSync(join(tmpdir(), `${this.name}-`));
    this.#namespace = new Namespace(this.name);
  }

  /** The configuration for kubectl and for programs that use the API, as the administrator. */
  get kubeconfig(): string {
    return join(this.folder, 'kubeconfig');
  }

  /** The command line of kubectl in the cluster's network namespace, as the administrator. */
  kubectlCommand(args: readonly string[]): [string, string[]] {
    const options = ['--kubeconfig', this.kubeconfig, '--cache-dir', join(this.folder, 'kubectl')];
    const [program, ...rest] = this.#inNamespace(this.#parts.path('kubectl'), [...options, ...args]);
    return [program, rest];
  }

  /**
   * Runs kubectl and returns its output.
   *
   * @throws Error with its messages if it fails or takes too long
   */
  async kubectl(args: readonly string[], { input = '', timeoutMs = 60_000 } = {}): Promise<string> {
    const child = spawn(...this.kubectlCommand(args), { timeout: timeoutMs });
    const output = new Output(child);
    child.stdin.end(input);
    const [status] = (await once(child, 'close')) as [number | null];
    const { stdout, stderr } = output.texts;
    if (status === 0) return stdout;
    throw new Error(`kubectl ${args.join(' ')} ended with ${status}:\n${stdout}${stderr}`);
  }

  /** Objects, read by kubectl: `get('pod/mnist-master-0')`. */
  async get<T>(...args: string[]): Promise<T> {
    return JSON.parse(await this.kubectl(['get', '--output', 'json', ...args])) as T;
  }

  /** The end of a program's log. */
  logOf(name: string): string {
    return readFileSync(join(this.folder, `${name}.log`), 'utf8')
      .split('\n')
      .slice(-40)
      .join('\n');
  }

  /** Stops every program and removes its files, including the folder. */
  async stop(): Promise<void> {
    for (const { name, child } of this.#children.reverse()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const ended = once(child, 'exit');
      // The kubelet removes its pods. The other programs need no cleanup.
      child.kill(name === 'kubelet' ? 'SIGTERM' : 'SIGKILL');
      await ended;
    }
    this.#namespace.remove();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #start(nodes: number, images: Image[]): Promise<void> {
    this.#namespace.ip(
      'link set lo up',
      `link add name ${bridge} type bridge`,
      `address add ${gateway}/24 dev ${bridge}`,
      `link set ${bridge} up`,
    );
    const certificates = join(this.folder, 'certificates');
    mkdirSync(certificates);
    const authority = new CertificateAuthority(certificates);
    const names = [
      'localhost',
      '127.0.0.1',
      gateway,
      'kubernetes.default.svc',
      'kubernetes.default.svc.cluster.local',
    ];
    const server = authority.issue('server', '/CN=kube-apiserver', names);
    const admin = authority.issue('admin', '/O=system:masters/CN=admin');
    const kubelet = authority.issue('kubelet', '/O=system:masters/CN=kubelet', [gateway]);
    this.#writeKubeconfig(authority, admin);
    const etcdUrl = this.#startEtcd();
    await this.#startApiServer(etcdUrl, authority, server, admin);
    this.#startControllers(authority, server);
    await this.#startKubelet(nodes, images, authority, kubelet);
  }

  #writeKubeconfig(authority: CertificateAuthority, { certFile, keyFile }: Certificate): void {
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'test',
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'admin' } }],
      clusters: [
        {
          name: 'test',
          cluster: { server: `https://${gateway}:${apiPort}`, 'certificate-authority': authority.certFile },
        },
      ],
      users: [{ name: 'admin', user: { 'client-certificate': certFile, 'client-key': keyFile } }],
    };
    writeFileSync(this.kubeconfig, JSON.stringify(config));
  }

  #startEtcd(): string {
    const [clients, peers] = ['http://127.0.0.1:2379', 'http://127.0.0.1:2380'];
    const listen = ['--listen-client-urls', clients, '--advertise-client-urls', clients];
    const meet = ['--listen-peer-urls', peers, '--initial-advertise-peer-urls', peers];
    // Nothing survives this cluster, so nothing needs to reach the disk.
    const data = ['--data-dir', join(this.folder, 'etcd'), '--unsafe-no-fsync'];
    this.#spawn('etcd', 'etcd', [...data, ...listen, ...meet, '--initial-cluster', `default=${peers}`]);
    return clients;
  }

  async #startApiServer(
    etcd: string,
    authority: CertificateAuthority,
    server: Certificate,
    client: Certificate,
  ) {
    this.#spawnPart('kube-apiserver', {
      'etcd-servers': etcd,
      'bind-address': gateway,
      'secure-port': apiPort,
      'service-cluster-ip-range': '10.96.0.0/16',
      'client-ca-file': authority.certFile,
      'tls-cert-file': server.certFile,
      'tls-private-key-file': server.keyFile,
      'service-account-issuer': 'https://kubernetes.default.svc.cluster.local',
      'service-account-key-file': server.certFile,
      'service-account-signing-key-file': server.keyFile,
      'authorization-mode': 'Node,RBAC',
      'kubelet-certificate-authority': authority.certFile,
      'kubelet-client-certificate': client.certFile,
      'kubelet-client-key': client.keyFile,
      'kubelet-preferred-address-types': 'InternalIP',
      // Webhooks are called at the addresses of their pods, because no kube-proxy serves those of services.
      'enable-aggregator-routing': true,
      // kubectl's WebSockets are passed to the kubelet unchanged, instead of as SPDY.
      'feature-gates': 'TranslateStreamCloseWebsocketRequests=false',
    });
    await this.#until('kube-apiserver', ['get', '--raw', '/readyz']);
  }

  #startControllers(authority: CertificateAuthority, server: Certificate): void {
    this.#spawnPart('kube-controller-manager', {
      kubeconfig: this.kubeconfig,
      'root-ca-file': authority.certFile,
      'service-account-private-key-file': server.keyFile,
      'use-service-account-credentials': true,
      'leader-elect': false,
    });
    this.#spawnPart('kube-scheduler', { kubeconfig: this.kubeconfig, 'leader-elect': false });
  }

  async #startKubelet(count: number, images: Image[], authority: CertificateAuthority, own: Certificate) {
    const folder = join(this.folder, 'pods');
    mkdirSync(folder);
    const tls = { ca: authority.cert, cert: own.cert, key: own.key };
    const nodes = Array.from({ length: count }, (_, i) => ({ name: `node-${i}`, kubeletPort, capacity }));
    const config: KubeletConfig = {
      credentials: { server: `https://${gateway}:${apiPort}`, ...tls },
      tls,
      apiPort,
      nodes,
      images,
      prefix: this.name,
      folder,
    };
    const file = join(this.folder, 'kubelet.json');
    writeFileSync(file, JSON.stringify(config));
    this.#spawn('kubelet', process.execPath, [
      '--import',
      'tsx',
      join(import.meta.dirname, 'kubelet/main.ts'),
      file,
    ]);
    const names = nodes.map(({ name }) => `node/${name}`);
    await this.#until('kubelet', ['wait', '--for', 'condition=Ready', '--timeout', '1s', ...names]);
    // Pods need the service account that a controller creates.
    await this.#until('kube-controller-manager', ['get', 'serviceaccount/default']);
  }

  #spawnPart(program: Program, options: Readonly<Record<string, string | number | boolean>>): void {
    const args = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
    this.#spawn(program, this.#parts.path(program), args);
  }

  #spawn(name: string, program: string, args: readonly string[]): void {
    const log = openSync(join(this.folder, `${name}.log`), 'w');
    const [command, ...rest] = this.#inNamespace(program, args);
    const child = spawn(command, rest, { cwd: repository, stdio: ['ignore', log, log] });
    this.#children.push({ name, child });
  }

  /** Repeats a command of kubectl until it succeeds, while the program `name` runs. */
  async #until(name: string, args: readonly string[]): Promise<void> {
    const endsAt = Date.now() + startLimitMs;
    const { child } = this.#children.find((each) => each.name === name)!;
    for (;;) {
      const { status, stderr } = spawnSync(...this.kubectlCommand(args), { encoding: 'utf8' });
      if (status === 0) return;
      if (child.exitCode !== null || Date.now() > endsAt) {
        throw new Error(`${name} did not start: ${stderr}\n${this.logOf(name)}`);
      }
      await delay(200);
    }
  }

  /** Unlike `ip netns exec`, this keeps the mounts of the machine, so the kubelet can create further namespaces. */
  #inNamespace(program: string, args: readonly string[]): string[] {
    return ['nsenter', `--net=/run/netns/${this.name}`, program, ...args];
  }
}
