"""A contract that lists all that some modules may import from elsewhere."""

import sys

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output
from importlinter.domain.helpers import module_expressions_to_modules


class OnlyContract(Contract):
    """Modules import from outside themselves only what the contract names.

    Options:
        source_modules: The modules, each with what lies below it.
        allowed_modules: What they may import, each with what lies below it.
        standard_library: Whether all of Python's own modules are allowed too; true unless set.
        not_followed: Of the allowed modules, those whose own imports are left unchecked.
        except_in: Of the modules, those that are left unchecked, each alone.
        allow_indirect_imports: Whether what the imported modules import is left unchecked; it is
            checked unless this is true.
    """

    type_name = "only"

    source_modules = fields.SetField(subfield=fields.ModuleExpressionField())
    allowed_modules = fields.SetField(subfield=fields.StringField())
    standard_library = fields.BooleanField(required=False, default=True)
    not_followed = fields.SetField(subfield=fields.StringField(), required=False, default=set())
    except_in = fields.SetField(subfield=fields.StringField(), required=False, default=set())
    allow_indirect_imports = fields.BooleanField(required=False, default=False)

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """The imports of anything that is not listed, each as importer, imported and line."""
        sources = {
            descendant
            for module in module_expressions_to_modules(graph, self.source_modules)
            for descendant in (module.name, *graph.find_descendants(module.name))
        }
        illegal = []
        to_visit, visited = sorted(sources - self.except_in), set(sources)
        while to_visit:
            importer = to_visit.pop()
            for imported in sorted(graph.find_modules_directly_imported_by(importer)):
                if imported in sources:
                    continue
                if not self._is_allowed(imported):
                    details = graph.get_import_details(importer=importer, imported=imported)
                    illegal.append((importer, imported, details[0]["line_number"]))
                elif imported in self.not_followed or self.allow_indirect_imports:
                    continue
                elif imported not in visited:
                    visited.add(imported)
                    to_visit.append(imported)
        return ContractCheck(kept=not illegal, metadata={"illegal": sorted(illegal)})

    def _is_allowed(self, imported: str) -> bool:
        if self.standard_library and imported.split(".")[0] in sys.stdlib_module_names:
            return True
        return any(f"{imported}.".startswith(f"{name}.") for name in self.allowed_modules)

    def render_broken_contract(self, check: ContractCheck) -> None:
        """One line for each illegal import."""
        for importer, imported, line in check.metadata["illegal"]:
            output.print_error(f"- {importer} -> {imported} (l.{line})", bold=False)
        output.new_line()
