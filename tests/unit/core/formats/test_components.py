from topicschema.core.formats.avro.graph.components import components


def test_each_component_comes_once_and_after_what_it_leads_to() -> None:
    graph = {"a": "b", "b": "cd", "c": "ae", "d": "d", "e": "f", "f": "", "g": "af", "h": "i", "i": "h"}
    found = [set(component) for component in components({node: list(to) for node, to in graph.items()})]
    assert sorted(map(sorted, found)) == [["a", "b", "c"], ["d"], ["e"], ["f"], ["g"], ["h", "i"]]
    order = {node: position for position, component in enumerate(found) for node in component}
    assert all(order[to] <= order[node] for node, leads in graph.items() for to in leads)


def test_a_long_chain_exhausts_no_stack() -> None:
    length = 50_000
    chain = {node: [node + 1] if node < length else [] for node in range(length + 1)}
    assert [component for [component] in components(chain)] == list(range(length, -1, -1))
