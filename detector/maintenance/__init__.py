"""Times in which somebody works on a host, said by people or by Alertmanager's silences."""
