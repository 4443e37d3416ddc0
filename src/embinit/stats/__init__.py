"""The one rule that decides: ``rule`` has it, ``interim`` its levels, ``power`` what it can see."""
