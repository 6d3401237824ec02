// Has its permission mode as a configuration option, whose answer states the value.
import { serve } from './acp-base.mjs';

const options = (currentValue) => [
  {
    id: 'mode',
    name: 'Mode',
    category: 'mode',
    type: 'select',
    currentValue,
    options: [
      {
        group: 'all',
        name: 'All',
        options: [
          { value: 'auto', name: 'Auto' },
          { value: 'default', name: 'Ask' },
        ],
      },
    ],
  },
];

serve({
  'session/new': () => ({ sessionId: 's-1', configOptions: options('auto') }),
  'session/set_config_option': ({ value }) => ({ configOptions: options(value) }),
});
