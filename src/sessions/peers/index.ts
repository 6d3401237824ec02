/** The other side of the claude-peers port: clients that are not ours (decision 10). */
export { ackOutside, outsidePrefix, sendFromOutside, sendToOutside, takeOutside } from './outside-messages.ts';
export type { OutsideMessageRow } from './outside-messages.ts';
export type { OutsidePeerRow, OutsideRegistration } from './outside-peers.ts';
export {
  dismissOutside,
  forgetOutside,
  heartbeatOutside,
  listOutside,
  maxOutsidePeers,
  outsideWords,
  portActor,
  reapOutside,
  registerOutside,
  setOutsideSummary,
  unregisterOutside,
} from './outside-peers.ts';
