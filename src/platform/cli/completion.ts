import type { Command } from "./command.ts";
import type { CommandEntry } from "./run-cli.ts";

const shells = ["bash", "zsh", "fish"] as const;
type Shell = (typeof shells)[number];

/** `slipway completion bash|zsh|fish` prints the script; the names the executable may be called by complete too. */
export function createCompletionCommand(programName: string, table: () => readonly CommandEntry[]): Command {
  return {
    name: "completion",
    summary: "Print a completion script for bash, zsh or fish",
    description: "Source the output in your shell's start file.",
    positionals: [{ name: "shell", description: "Which shell the script is for", isRequired: true, choices: shells }],
    examples: [
      { command: `source <(${programName} completion bash)`, description: "Complete in this bash" },
      {
        command: `${programName} completion fish > ~/.config/fish/completions/${programName}.fish`,
        description: "For fish",
      },
    ],
    async run(args, context) {
      const shell = args.requiredString("shell") as Shell;
      const names = [
        programName,
        ...table()
          .filter((entry) => entry.isCallName)
          .map((entry) => entry.name),
      ];
      await context.terminal.write(scriptFor(shell, programName, names));
      return 0;
    },
  };
}

function scriptFor(shell: Shell, programName: string, names: readonly string[]): string {
  const identifier = programName.replaceAll("-", "_");
  switch (shell) {
    case "bash":
      return `_${identifier}_complete() {
  local name; name="$(basename -- "\${COMP_WORDS[0]}")"
  local candidates
  candidates="$(${programName} --complete "$name" "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)"
  mapfile -t COMPREPLY < <(compgen -W "$candidates" -- "\${COMP_WORDS[COMP_CWORD]}")
  if [ \${#COMPREPLY[@]} -eq 0 ]; then mapfile -t COMPREPLY < <(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}"); fi
}
complete -o filenames -F _${identifier}_complete ${names.join(" ")}
`;
    case "zsh":
      return `#compdef ${names.join(" ")}
_${identifier}_complete() {
  local -a candidates
  candidates=("\${(@f)$(${programName} --complete "\${words[1]:t}" "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "\${candidates[1]}" ]]; then compadd -a candidates; else _files; fi
}
compdef _${identifier}_complete ${names.join(" ")}
`;
    case "fish":
      return names
        .map(
          (name) =>
            `complete -c ${name} -a '(${programName} --complete ${name} (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'\n`,
        )
        .join("");
  }
}
