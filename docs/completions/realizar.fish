# Completion of realizar for fish: put this into ~/.config/fish/completions/realizar.fish.
function __realizar_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l program (string replace -r '^~(?=/)' $HOME -- $words[1])
    # The part before the value in --option=value belongs to the completed word.
    set -l option (string match -r -- '^--[^=]+=' "$word"; or echo)
    set -l value (string replace -r -- '^--[^=]+=' '' "$word")
    for line in ($program complete -- $words[2..] "$word" 2>/dev/null)
        switch $line
            case :file
                printf '%s\n' $option(__fish_complete_path "$value")
            case :folder
                printf '%s\n' $option(__fish_complete_directories "$value")
            case '*'
                echo $option$line
        end
    end
end
complete -c realizar -f -a '(__realizar_complete)'
