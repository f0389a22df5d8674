"""What a monitor may know of this server: numbers in OpenMetrics, for who has the token.

`counted` holds what is counted as it happens, `moment` what is asked when somebody looks; each is
declared there once, with its name, unit and meaning (docs/deploy.md has the table of these). No
label holds a person, a run or a path.
"""
