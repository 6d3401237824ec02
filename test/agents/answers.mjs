// Answers every prompt with what it heard and ends its turn.
import { serve } from './acp-base.mjs';

serve({});
