import { benchSandbox } from '../../src/sandbox/index.ts';
import { type Figure, figureOf } from './figure.ts';

/** The barrier of this machine against none; nothing where no sandbox works. */
export async function benchBarrier(): Promise<Figure[]> {
  const figures = await benchSandbox();
  if (!figures) return [];
  const { startMs, addedBytes, stdioMibPerSecond, proxyMs } = figures;
  const against = (name: string, samples: number[]): { baseline: { name: string; samples: number[] } } => ({
    baseline: { name, samples },
  });
  const mib = (bytes: number): number[] => [bytes / 1024 ** 2];
  const rss = { unit: 'MiB', note: 'of the 8 MB that all helpers of a session may take' };
  return [
    figureOf('sandbox: start', startMs.sandbox, against('without a sandbox', startMs.none)),
    figureOf('sandbox: start with network', startMs.withNetwork, against('without a sandbox', startMs.none)),
    figureOf('sandbox: memory', mib(addedBytes.sandbox), { ...rss, target: { at: 'p50', atMost: 8 } }),
    figureOf('sandbox: memory with network', mib(addedBytes.withNetwork), { ...rss, target: { at: 'p50', atMost: 8 } }),
    figureOf('sandbox: stdio', [stdioMibPerSecond.sandbox], {
      unit: 'MiB/s',
      ...against('without a sandbox', [stdioMibPerSecond.none]),
    }),
    figureOf('wall: new connection', proxyMs.connect, against('direct', proxyMs.direct)),
    figureOf('wall: round trip on a kept connection', proxyMs.keptTunnel, against('direct', proxyMs.keptDirect)),
  ];
}
