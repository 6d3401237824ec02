/** Event kinds of `app/notify`, each with one line for the docs. */
export const notifyEvents = {
  'notify.configured': 'A channel was set up or taken away; facts name the channel, never an address or a token.',
  'notify.owner-added': 'A Telegram user was put on the owner list: it decides as that operator.',
  'notify.owner-removed': 'A Telegram user was taken off the owner list.',
  'notify.failing': 'A receiver could not be reached several times in a row; a human is asked.',
  'notify.recovered': 'A receiver that failed is reached again.',
  'telegram.refused':
    'Something came in by Telegram that has no right here; facts hold the reason and a count, never a text.',
} as const;
