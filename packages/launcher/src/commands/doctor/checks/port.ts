import { connect } from 'node:net';
import { formatDuration } from '@ringrun/core';
import { describeReachability, formatHostPort } from '@ringrun/rendezvous';
import type { HostPort, Reachability } from '@ringrun/rendezvous';
import { ok, problem, warning } from '../finding.ts';
import type { Finding } from '../finding.ts';

/** Result of an attempt to listen on the port. */
export type Binding =
  | { kind: 'free' }
  /** `owner` is a clause, such as `process 4711 (node train.js)`. `store`: true if a ringrun store answers. */
  | { kind: 'held'; owner: string; store: boolean }
  | { kind: 'forbidden'; why: string };

/** @param servesStore True if the job's store must listen here. Otherwise a launcher can choose another port. */
export function judgeBinding(port: number, binding: Binding, servesStore: boolean): Finding {
  if (binding.kind === 'free') return ok(`${port} is free`);
  if (binding.kind === 'forbidden') {
    return problem(
      `cannot listen on ${port}: ${binding.why}`,
      'use a port of 1024 or above: --master-port 29500',
    );
  }
  if (binding.store)
    return ok(
      `${port} is in use by ${binding.owner}, which serves a ringrun store: a job or a doctor is running`,
    );
  const found = `${port} is in use by ${binding.owner}`;
  if (servesStore)
    return problem(found, `end that process, or use another port on all nodes (--master-port)`);
  return warning(
    `${found}: a script without a launcher cannot serve its store on this port`,
    'start the script with ringrun --nproc-per-node, which chooses a free port, or set MASTER_PORT',
  );
}

/** Result of connecting to the master's port for `waitedMs`. */
export interface ConnectionAttempt extends HostPort {
  state: Reachability;
  waitedMs: number;
  /** First line that the listener sends, unprompted or in answer to an HTTP request. Empty if it sends nothing. */
  greeting: string;
}

export function judgeConnection({ host, port, state, waitedMs, greeting }: ConnectionAttempt): Finding {
  const where = formatHostPort({ host, port });
  const found = `${where} was not reached within ${formatDuration(waitedMs)}: ${describeReachability(host, state)}`;
  switch (state.kind) {
    case 'unresolved':
      return problem(found, 'the name resolved a moment ago, so check the name server');
    case 'refused':
      return problem(
        found,
        `start the doctor, or the job, on that host too: ringrun doctor --master-addr ${host}${port === 29500 ? '' : ` --master-port ${port}`} --node-rank 0`,
      );
    case 'unreachable':
      return problem(
        found,
        'the packets are dropped: check for a firewall, a NetworkPolicy or a host that is down; all TCP ports must be open between the nodes of a job',
      );
    case 'accepted':
      return problem(
        `${found}${greeting && `. It sends ${JSON.stringify(greeting)}`}`,
        'use another port (--master-port); an Istio sidecar accepts every connection: annotate the pods with sidecar.istio.io/inject: "false"',
      );
  }
}

/** The store has another secret than this doctor. */
export function judgeSecret(at: HostPort): Finding {
  return problem(
    `the store at ${formatHostPort(at)} has another secret than this doctor, or only one of them has a secret`,
    'set RINGRUN_SECRET or RINGRUN_SECRET_FILE to the same secret on all nodes, or on none',
  );
}

const greetingMs = 1000;

/** The first line that the listener sends within a second. Empty if it is not text. */
export function readGreeting({ host, port }: HostPort): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    let text = '';
    const end = () => {
      clearTimeout(timer);
      socket.destroy();
      const [line] = text.split(/\r?\n/);
      resolve(/^[\x20-\x7e]+$/.test(line) ? line.slice(0, 80) : '');
    };
    const timer = setTimeout(end, greetingMs);
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
      if (text.includes('\n')) end();
    });
    socket.once('error', end).once('end', end);
    socket.write('GET / HTTP/1.0\r\n\r\n');
  });
}
