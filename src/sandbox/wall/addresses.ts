import { BlockList, isIPv4, isIPv6 } from 'node:net';

/** Networks of a household or company: named hosts may live there when a rule says so. */
const ownNetworks = blockList([
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['fc00::', 7],
]);

/** What no rule opens: this machine, its neighbours, clouds' metadata, and what is no host at all (RFC 6890). */
const specialNetworks = blockList([
  ['0.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  ['2001::', 32],
  ['2001:db8::', 32],
  ['2002::', 16],
]);

const globalUnicast = blockList([['2000::', 3]]);

/** Whether `address` is one on the public internet, or in the operator's own network where that is allowed. */
export function mayReach(address: string, { allowPrivate = false }: { allowPrivate?: boolean } = {}): boolean {
  const family = isIPv4(address) ? 'ipv4' : 'ipv6';
  if (family === 'ipv6' && !isIPv6(address)) return false;
  if (ownNetworks.check(address, family)) return allowPrivate;
  if (specialNetworks.check(address, family)) return false;
  return family === 'ipv4' || globalUnicast.check(address, family);
}

function blockList(subnets: readonly (readonly [string, number])[]): BlockList {
  const list = new BlockList();
  for (const [network, prefix] of subnets) list.addSubnet(network, prefix, network.includes(':') ? 'ipv6' : 'ipv4');
  return list;
}
