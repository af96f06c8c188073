# Completion of realizar for fish: put this into ~/.config/fish/completions/realizar.fish.
function __realizar_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    for line in ($words[1] complete -- $words[2..] "$word" 2>/dev/null)
        switch $line
            case :file
                __fish_complete_path "$word"
            case :folder
                __fish_complete_directories "$word"
            case '*'
                echo $line
        end
    end
end
complete -c realizar -f -a '(__realizar_complete)'
