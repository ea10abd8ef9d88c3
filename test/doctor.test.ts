import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { fakeComputeLibraries } from '../native/test/fake-gpu/libraries.ts';
import { builtScript } from './support/built-script.ts';
import { node } from './support/command.ts';
import type { CommandOptions } from './support/command.ts';
import { findingsOf, words } from './support/doctor.ts';
import { repository } from './support/environment.ts';
import { ways } from './support/extent.ts';
import { freePort } from './support/free-port.ts';
import { start } from './support/start.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const folder = temporaryFolder();
const launcher = join(repository, 'launch.js');

function doctor(args: readonly (string | number)[], options: CommandOptions = {}) {
  return findingsOf(node([launcher, 'doctor', '--json', ...args.map(String)], options));
}

/** A shared library whose one function runs when the library is opened. */
function library(name: string, body: string): string {
  const path = join(folder, name);
  const source = `#include <stdlib.h>\n#include <unistd.h>\n__attribute__((constructor)) static void opened(void) { ${body} }\n`;
  const { status, stderr } = spawnSync('g++', ['-x', 'c++', '-shared', '-fPIC', '-o', path, '-'], {
    input: source,
    encoding: 'utf8',
  });
  expect(status, stderr).toBe(0);
  return path;
}

/** What a library does when it is opened, the seconds that it is given, and what the doctor says of it. */
type Opened = readonly [name: string, body: string, timeout: number, why: string];
const hangs: Opened = ['hangs', 'for (;;) pause();', 2, 'it did not end within 2 s'];
const crashes: Opened = ['crashes', 'abort();', 30, 'it was killed by SIGABRT'];

describe('on a machine', () => {
  test('that can train: finds no problem, and prints aligned lines', async () => {
    const { code, stdout, stderr } = await node(['launch', 'doctor']).ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^ringrun \d+\.\d+\.\d+ on \S+, linux \w+\n\n/);
    expect(stdout).toMatch(/^ok {7}addon {10}\/.*\/ringrun\.node loads$/m);
    expect(stdout).toMatch(
      /^ok {7}shared memory {2}all-reduce of two processes: \d.* for 4 B, \d.*B\/s \(memfd/m,
    );
    expect(stdout).toMatch(/^ok {7}onnxruntime {4}1\.\d+\.\d+ loads and runs a graph in \d+ ms$/m);
  });

  test('with too few resources: names each shortage and its fix', async () => {
    library('libcuda.so.1', '');
    // Files may have 0 bytes: memory of memfd_create counts as a file.
    const limited = ['-c', 'ulimit -n 300; ulimit -f 0; exec "$0" "$@"'];
    const command = start('sh', [...limited, process.execPath, launcher, 'doctor', '--json'], {
      env: {
        OMP_NUM_THREADS: 640,
        LD_LIBRARY_PATH: folder,
        RINGRUN_ONNXRUNTIME_LIBRARY: join(folder, 'libabsent.so'),
      },
    });
    const findings = await findingsOf(command);
    expect(words(findings['threads'])).toMatch(
      /^warning: .*OMP_NUM_THREADS=640 makes each process start more threads.* → unset it/,
    );
    expect(words(findings['open files'])).toMatch(
      /^warning: the limit is 300, which rank 0 exceeds in a job of 79 or more processes → raise it: ulimit -n 65536/,
    );
    expect(words(findings['shared memory'])).toMatch(
      /^warning: not available, so processes of one host use TCP: .*ftruncate.* → .*ulimit -f unlimited/,
    );
    expect(words(findings['onnxruntime'])).toMatch(
      /^problem: onnxruntime cannot be used: cannot load \S+libabsent\.so: .* → Set RINGRUN_ONNXRUNTIME_LIBRARY to a libonnxruntime 1\.\S+ for linux \S+, or unset it/,
    );
    if (existsSync('/dev/nvidia0')) return;
    expect(words(findings['gpu'])).toMatch(
      /^warning: .*no GPU: \/dev\/nvidia0 does not exist.* → .*nvidia\.com\/gpu: 1/,
    );
  });

  test('with a library of onnxruntime or CUDA that does not load: reports the reason', async () => {
    // It prints, which must not disturb the report, and has no CUDA functions.
    const chatty = library('chatty-cuda.so', 'if (write(1, "hello\\n", 6) != 6) abort();');
    const findings = await doctor([], {
      env: { RINGRUN_ONNXRUNTIME_LIBRARY: '/nowhere/libonnxruntime.so', RINGRUN_CUDA_LIBRARY: chatty },
    });
    expect(words(findings['gpu'])).toMatch(/^(warning|problem): .*chatty-cuda\.so lacks cuInit, .* → /);
    expect(words(findings['onnxruntime'])).toMatch(
      /^problem: onnxruntime cannot be used: cannot load \/nowhere\/libonnxruntime\.so: .*No such file.* → Set RINGRUN_ONNXRUNTIME_LIBRARY/,
    );
  });

  test('without the addon: reports the reason', async () => {
    const findings = await doctor([], { env: { RINGRUN_NATIVE: join(folder, 'none.node') } });
    const nowhere = join(folder, 'none.node');
    expect(words(findings['addon'])).toContain(
      `problem: no native addon: ${nowhere}: no such file → install`,
    );
    expect(findings['shared memory'].level).toBe('problem');
    expect(words(findings['onnxruntime'])).toMatch(
      /^problem: onnxruntime does not load or run: NativeUnavailableError: .* → fix the addon first/,
    );
  });

  test.each(ways([hangs], [crashes]))(
    'an addon that %s does not end the doctor',
    async (name, body, timeout, why) => {
      const RINGRUN_NATIVE = library(`${name}.node`, body);
      const findings = await doctor(['--timeout', timeout], { env: { RINGRUN_NATIVE } });
      expect(words(findings['addon'])).toMatch(new RegExp(`^problem: .*${why}`));
      expect(words(findings['onnxruntime'])).toMatch(new RegExp(`^problem: .*${why}`));
    },
  );
});

// Fakes of NVIDIA's libraries, whose names and GPU names contain "fake". On a machine with GPUs they hide NVIDIA's.
describe('the libraries of GPUs', () => {
  const libraries = fakeComputeLibraries();

  test('that load are reported with versions, paths and GPUs', async () => {
    const findings = await doctor([], { env: { ...libraries, CUDA_VISIBLE_DEVICES: '2,5' } });
    const { gpu, nccl } = findings;
    expect(words(gpu)).toMatch(/^ok: 2 GPUs \(2 × fake GPU of 17\.2 GB\), driver .* with CUDA 13\.0, /);
    expect(gpu.found.endsWith(libraries.RINGRUN_CUDA_LIBRARY)).toBe(true);
    expect(gpu.measured).toMatchObject({
      cuda: { version: '13.0', path: libraries.RINGRUN_CUDA_LIBRARY },
      devices: [
        { uuid: 'GPU-5a5a5a5a-5a5a-5a5a-5a5a-5a5a5a5a5a02', memoryBytes: 2 ** 34 },
        { uuid: 'GPU-5a5a5a5a-5a5a-5a5a-5a5a-5a5a5a5a5a05' },
      ],
    });
    expect(nccl.found).toContain(`NCCL 2.21.5, ${libraries.RINGRUN_NCCL_LIBRARY}`);
    expect(nccl.measured).toMatchObject({ version: '2.21.5', path: libraries.RINGRUN_NCCL_LIBRARY });
    expect(nccl.found).toContain('fake');
    for (const [check, name] of Object.entries({
      nvrtc: 'NVRTC 13.0',
      cublaslt: 'cuBLASLt 13.0',
      cudnn: 'cuDNN 9.0',
    })) {
      expect(words(findings[check])).toBe(
        `ok: ${name}, ${libraries[`RINGRUN_${check.toUpperCase()}_LIBRARY`]}`,
      );
    }
  });

  test('that compute are used on each GPU, whose users are reported', async () => {
    const smi = join(folder, 'nvidia-smi');
    const uuid = (index: number) => `GPU-5a5a5a5a-5a5a-5a5a-5a5a-5a5a5a5a5a0${index}`;
    writeFileSync(smi, `#!/bin/sh\necho '${uuid(1)}, 4242, 1520, python3'\n`);
    chmodSync(smi, 0o700);
    const env = { ...libraries, RINGRUN_FAKE_GPU_GPUS: 2, PATH: `${folder}:${process.env['PATH']}` };
    const findings = await doctor(['--backend', 'nccl'], { env });
    const right = "model.to('cuda') works: a kernel, a product and a convolution as on the host";
    expect(words(findings['gpu 0'])).toMatch(
      /^ok: fake GPU \(compute capability 9\.0\), .* GB free; no other process uses it; /,
    );
    expect(words(findings['gpu 0'])).toContain(right);
    expect(words(findings['gpu 1'])).toContain('also used by process 4242 (python3, 1.59 GB)');
    expect(findings).not.toHaveProperty('gpu 2');
  });

  test('that fail on a GPU do not end the doctor', async () => {
    const env = { ...libraries, RINGRUN_FAKE_GPU_GPUS: 1, RINGRUN_FAKE_GPU_FAULT: 'cuLaunchKernel:1:719' };
    const findings = await doctor([], { env });
    expect(words(findings['gpu 0'])).toMatch(
      /^problem: it does not compute: Error: program .*cuLaunchKernel .*\(719\) → run nvidia-smi/,
    );
    const withoutConvolutions = {
      ...libraries,
      RINGRUN_FAKE_GPU_GPUS: 1,
      RINGRUN_CUDNN_LIBRARY: '/nowhere/cudnn.so',
    };
    const { cudnn, ...others } = await doctor([], { env: withoutConvolutions });
    expect(words(cudnn)).toMatch(
      /^warning: .*models with convolutions cannot .* → RINGRUN_CUDNN_LIBRARY is \/nowhere/,
    );
    expect(words(others['gpu 0'])).toMatch(/^ok: .* works: a kernel and a product as on the host/);
  });

  test('that a job with the backend nccl lacks are problems', async () => {
    const env = { RINGRUN_CUDA_LIBRARY: '/nowhere/cuda.so', RINGRUN_NCCL_LIBRARY: '/nowhere/nccl.so' };
    const findings = await doctor(['--backend', 'nccl'], { env });
    const levels = ['gpu', 'nccl'].map((check) => findings[check].level);
    expect(levels).toEqual(['problem', 'problem']);
  });

  test('that are missing or too old are reported with the paths tried and the variable to set', async () => {
    const nowhere = { RINGRUN_CUDA_LIBRARY: '/nowhere/cuda.so', RINGRUN_NCCL_LIBRARY: '/nowhere/nccl.so' };
    const old = { ...libraries, RINGRUN_FAKE_GPU_NCCL_VERSION: '2708' };
    const [missing, outdated] = await Promise.all([doctor([], { env: nowhere }), doctor([], { env: old })]);
    expect(words(missing['gpu'])).toMatch(
      /\(\/nowhere\/cuda\.so: cannot open shared object file.*\).* → RINGRUN_CUDA_LIBRARY is \/nowhere\/cuda\.so, so no other path is searched/,
    );
    expect(words(missing['nccl'])).toMatch(
      /^warning: .*\(\/nowhere\/nccl\.so: cannot open .*\) → RINGRUN_NCCL_LIBRARY is \/nowhere\/nccl\.so, /,
    );
    expect(missing).not.toHaveProperty('gpu 0');
    expect(words(outdated['nccl'])).toMatch(/^warning: .*is NCCL 2\.7\.8, expected 2\.14\.0 or later.* → /);
  });

  test.each(ways([crashes], [hangs]))(
    'a driver that %s does not end the doctor',
    async (name, body, timeout, why) => {
      const RINGRUN_CUDA_LIBRARY = library(`${name}-cuda.so`, body);
      const findings = await doctor(['--timeout', timeout], { env: { RINGRUN_CUDA_LIBRARY } });
      expect(words(findings['gpu'])).toMatch(
        new RegExp(`^(warning|problem): .*libcuda\\.so\\.1.*${why}.* → .*RINGRUN_CUDA_LIBRARY`),
      );
      expect(findings).toHaveProperty('network');
    },
  );
});

describe('a port', () => {
  /** A port of this process that answers, but not as a store. */
  async function heldPort(): Promise<number> {
    const server = createServer((_, response) => response.end('hello\n')).listen(0, '0.0.0.0');
    await once(server, 'listening');
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return (server.address() as AddressInfo).port;
  }

  test('in use: names the process, even to doctors that connect', async () => {
    const port = await heldPort();
    const [hosting, visiting] = await Promise.all([
      doctor(['--master-addr', '127.0.0.1', '--master-port', port]),
      doctor(['--master-addr', '127.0.0.1', '--master-port', port, '--node-rank', 1, '--timeout', 3]),
    ]);
    const holder = `^problem: ${port} is in use by process ${process.pid} \\(`;
    expect(words(hosting['port'])).toMatch(new RegExp(`${holder}.* → .*--master-port`));
    expect(words(visiting['port'])).toMatch(
      /^problem: 127\.0\.0\.1:\d+ was not reached within \d+ s: .* does not answer as a ringrun store\. It sends "HTTP\/1\.1 200 OK" → .*sidecar\.istio\.io\/inject/,
    );
    // With several nodes, each would consider itself the master.
    expect(words(visiting['address'])).toMatch(
      /^problem: 127\.0\.0\.1 is a loopback address: each node would wait for itself → /,
    );
  });

  test('of a running job: does not disturb it', async () => {
    const place = { MASTER_ADDR: '127.0.0.1', WORLD_SIZE: 2 };
    const env = { ...place, MASTER_PORT: await freePort(), OMP_NUM_THREADS: 1 };
    const ranks = [0, 1].map((RANK) =>
      node([builtScript('fixtures/endless-sums'), '20000'], { env: { ...env, RANK } }),
    );
    await Promise.all(ranks.map((rank) => rank.sees(/adds up/)));
    const findings = await doctor([], { env });
    expect(words(findings['port'])).toMatch(/^ok:/);
    expect(words(findings['link'])).toMatch(
      /^warning: not measured: the store on the master's port belongs to a running job → /,
    );
    expect(ranks.map((rank) => rank.processes().length)).toEqual([1, 1]);
  });
});

test('an unknown option is refused with the nearest known one', async () => {
  const { code, stderr } = await node(['launch', 'doctor', '--master-adr', 'host']).ended;
  expect(code).toBe(2);
  expect(stderr).toMatch(/^ringrun doctor: unknown option '--master-adr'\n\(Did you mean --master-addr\?\)/);
});
