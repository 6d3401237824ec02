// Headless Claude Code that asks its user two questions by its own tool and says the answer.
import { askTool, init, replay, result, say, serve } from './claude-base.mjs';

const options = (...labels) => labels.map((label) => ({ label, description: `${label} it is` }));

serve(async (prompt) => {
  init();
  replay(prompt);
  const answer = await askTool('AskUserQuestion', {
    questions: [
      { question: 'Which rounding?', header: 'Rounding', multiSelect: false, options: options('half up', 'half even') },
      { question: 'Which sizes?', header: 'Sizes', multiSelect: true, options: options('S', 'M', 'L') },
    ],
  });
  say(`${answer.behavior}: ${JSON.stringify(answer.updatedInput?.answers ?? answer.message)}`);
  result(prompt);
});
